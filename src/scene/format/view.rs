//! View of a scene, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{given, keywords, objects};
use super::{List, Vector};
use crate::model::view::{ColourBy, ColourMap, Ground, Lines};

/// View of the scene in pictures and the window, unless the arguments of a command say otherwise.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "View", deny_unknown_fields)]
pub struct View {
    /// Direction that is up, of any length but zero. Default: against gravity, or along y where there is none.
    pub up: Option<Vector>,
    /// Place of the camera: degrees around the scene, degrees above it (-88 to 88), and a zoom; at zoom 1 the scene
    /// fills the picture. Default: 30, 20, 1.
    pub camera: Option<List<f64, 3>>,
    /// Position of the camera, m, in place of `camera`.
    pub eye: Option<Vector>,
    /// Point that the camera looks at, m. Default: the middle of the scene.
    pub target: Option<Vector>,
    /// Quantity that the colours show. Default: "body".
    pub colour: Option<ColourBy>,
    /// The values of the first and of the last colour. Default: the range of the values present.
    pub range: Option<List<f64, 2>>,
    /// The colours from the first to the last. Default: "viridis".
    pub map: Option<ColourMap>,
    /// Plane that cuts bodies and walls: "x=0" removes the side towards the camera, "x<0" and "x>0" name the side that
    /// stays. Default: none.
    pub clip: Option<String>,
    /// Background: "sky", "white", "black", "transparent", or a colour such as "#f0f4f8". Default: "sky".
    pub background: Option<String>,
    /// Look of planes: "tiles", "plain", or "none" to leave them out. Default: "tiles".
    pub ground: Option<Ground>,
    /// Lines over the picture: arrows along the "velocity" of bodies or the "force" of their contacts, or the network of
    /// "contacts" instead of the bodies. Default: nothing.
    pub lines: Option<Lines>,
}

impl View {
    pub(super) fn is_default(&self) -> bool {
        *self == View::default()
    }
}

objects! {
    View: "an object such as {\"camera\": [30, 20, 1.5], \"colour\": \"speed\"}",
}

keywords! {
    ColourBy: "what colours mean, such as \"speed\"",
    Ground: "\"tiles\", \"plain\" or \"none\"",
    Lines: "\"velocity\", \"force\" or \"contacts\"",
    ColourMap: "\"viridis\", \"cividis\", \"inferno\", \"magma\" or \"plasma\"",
}
