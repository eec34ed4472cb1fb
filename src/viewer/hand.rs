//! Mouse: it moves the camera and pulls bodies.

use glam::{DVec2, DVec3, Vec3};
use winit::event::{ElementState, MouseButton, MouseScrollDelta, Touch, TouchPhase, WindowEvent};
use winit::keyboard::ModifiersState;

use super::{PATIENCE, Viewer};
use crate::model::error::Result;
use crate::model::handle::WallHandle;
use crate::model::pull::Pull;
use crate::render::{Line, Thing};
use crate::simulation::snapshot::BodyState;

/// Meaning of a drag of the left button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It turns the camera.
    Camera,
    /// It moves what is picked.
    Pick,
}

/// The thing that was picked.
#[derive(Clone, Debug)]
pub(super) enum Picked {
    /// A body, as it is now.
    Body { state: BodyState },
    /// A wall, by its index.
    Wall { index: usize },
}

/// A drag that is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drag {
    Turn,
    Shift,
    /// Pulls a body, from a point of it in its own axes; its target stays as far in front of the camera as
    /// the point was that was picked.
    Pull {
        pull: Pull,
        depth: f64,
    },
    /// Moves a plane along its normal.
    Plane {
        index: usize,
    },
}

/// The mouse.
#[derive(Debug, Default)]
pub(super) struct Hand {
    /// Position of the mouse, pixels.
    place: DVec2,
    modifiers: ModifiersState,
    drag: Option<Drag>,
    /// Distance that it has moved since the button was pressed, pixels.
    moved: f64,
    /// The line from the body that is pulled to the mouse.
    line: Option<Line>,
    /// Fingers on a screen, with where they are, pixels.
    fingers: Vec<(u64, DVec2)>,
}

/// A press that moves less than this, pixels, is a click.
const CLICK: f64 = 4.0;

/// Angle that the camera turns by for a pixel, rad.
const TURN: f64 = 0.006;

/// Factor of the distance of the camera for a line of the wheel.
const ZOOM: f64 = 0.88;

/// A body that is pulled swings back and forth in this time, s, and comes to rest without a swing.
const SWING: f64 = 0.35;

/// The line from a body to the mouse.
const LINE_COLOUR: Vec3 = Vec3::new(1.0, 0.35, 0.02);

impl Hand {
    pub fn is_pulling(&self) -> bool {
        matches!(self.drag, Some(Drag::Pull { .. }))
    }

    /// Lines that the hand adds to a picture.
    pub fn lines(&self) -> Vec<Line> {
        self.line.into_iter().collect()
    }

    /// Whether the control key is down, or ⌘.
    pub fn has_control(&self) -> bool {
        let modifiers = self.modifiers;
        modifiers.control_key() || modifiers.super_key()
    }

    pub fn let_go(&mut self) {
        self.drag = None;
        self.line = None;
    }
}

impl Viewer {
    /// Takes an event of the mouse; `consumed` where the panel has taken it.
    pub(super) async fn mouse(&mut self, event: &WindowEvent, consumed: bool) {
        match *event {
            WindowEvent::ModifiersChanged(modifiers) => {
                self.hand.modifiers = modifiers.state();
            }
            WindowEvent::CursorMoved { position, .. } => {
                let place = DVec2::new(position.x, position.y);
                let way = place - self.hand.place;
                self.hand.place = place;
                self.hand.moved += way.length();
                if self.hand.drag.is_some() {
                    self.drag(way).await;
                    self.request();
                }
            }
            WindowEvent::MouseInput { state, button, .. } => match state {
                ElementState::Pressed if !consumed => {
                    self.press(button).await;
                    self.request();
                }
                ElementState::Released if self.hand.drag.is_some() => {
                    self.release(button).await;
                    self.request();
                }
                _ => (),
            },
            WindowEvent::MouseWheel { delta, .. } if !consumed => {
                match delta {
                    MouseScrollDelta::LineDelta(_, lines) => {
                        self.camera.distance *= ZOOM.powf(lines.into());
                    }
                    // Two fingers on a trackpad.
                    MouseScrollDelta::PixelDelta(way) => {
                        let way = DVec2::new(way.x, way.y);
                        match self.hand.modifiers {
                            keys if keys.shift_key() => self.shift(way),
                            keys if keys.control_key() => {
                                self.camera.distance *= (-0.005 * way.y).exp();
                            }
                            _ => self.turn(way),
                        }
                    }
                }
                self.request();
            }
            WindowEvent::PinchGesture { delta, .. } if delta.is_finite() => {
                self.camera.distance *= (-delta).exp();
                self.request();
            }
            WindowEvent::Touch(touch) => self.touch(&touch, consumed).await,
            // Whatever was held is let go.
            WindowEvent::Focused(false) => self.release(MouseButton::Left).await,
            _ => (),
        }
    }

    /// One finger is the left button; two shift the camera, and take it nearer and farther.
    async fn touch(&mut self, touch: &Touch, consumed: bool) {
        let place = DVec2::new(touch.location.x, touch.location.y);
        let known = |(id, _): &(u64, DVec2)| *id == touch.id;
        let index = self.hand.fingers.iter().position(known);
        match (touch.phase, index) {
            (TouchPhase::Started, None) if !consumed => {
                self.hand.fingers.push((touch.id, place));
                if self.hand.fingers.len() == 1 {
                    self.hand.place = place;
                    self.press(MouseButton::Left).await;
                } else {
                    // What one finger has begun ends, and was no click.
                    self.hand.moved = CLICK;
                    self.release(MouseButton::Left).await;
                }
            }
            (TouchPhase::Moved, Some(index)) => {
                let before = std::mem::replace(&mut self.hand.fingers[index].1, place);
                let way = place - before;
                self.hand.moved += way.length();
                if let [(_, first), (_, second), ..] = *self.hand.fingers {
                    let other = if index == 0 { second } else { first };
                    self.camera.distance *= before.distance(other) / place.distance(other).max(1.0);
                    self.shift(0.5 * way);
                } else {
                    self.hand.place = place;
                    self.drag(way).await;
                }
            }
            (TouchPhase::Ended | TouchPhase::Cancelled, Some(index)) => {
                self.hand.fingers.remove(index);
                self.release(MouseButton::Left).await;
            }
            _ => return,
        }
        self.request();
    }

    async fn press(&mut self, button: MouseButton) {
        self.hand.moved = 0.0;
        self.hand.drag = match button {
            MouseButton::Left if self.mode == Mode::Pick => {
                let outcome = self.grab().await;
                self.tell(outcome);
                self.hand.drag.or(Some(Drag::Turn))
            }
            MouseButton::Left if !self.hand.modifiers.shift_key() => Some(Drag::Turn),
            MouseButton::Left | MouseButton::Right | MouseButton::Middle => Some(Drag::Shift),
            _ => None,
        };
    }

    async fn release(&mut self, button: MouseButton) {
        let clicked = self.hand.moved < CLICK && button == MouseButton::Left;
        if self.hand.is_pulling()
            && let Some(stage) = &mut self.stage
        {
            let outcome = stage.simulation.set_pull(None);
            self.tell(outcome);
        } else if clicked && self.hand.drag.is_some() {
            let outcome = self.pick().await.map(|_| ());
            self.tell(outcome);
        }
        self.hand.let_go();
    }

    async fn drag(&mut self, way: DVec2) {
        match self.hand.drag {
            Some(Drag::Turn) => self.turn(way),
            Some(Drag::Shift) => self.shift(way),
            Some(Drag::Pull { .. }) => self.keep_pulling(),
            Some(Drag::Plane { index }) => self.push_plane(index, way).await,
            None => (),
        }
    }

    fn turn(&mut self, way: DVec2) {
        self.camera.around -= TURN * way.x;
        self.camera.above = (self.camera.above + TURN * way.y).clamp(-1.5, 1.5);
    }

    fn shift(&mut self, way: DVec2) {
        let axes = self.camera.axes();
        let metres = self.metres_of_pixel(self.camera.distance);
        self.camera.target += metres * (way.y * axes.up - way.x * axes.right);
    }

    /// Returns the length of what takes one pixel at a distance, m.
    fn metres_of_pixel(&self, distance: f64) -> f64 {
        let [_, height] = self.picture_size();
        2.0 * self.camera.slope() * distance / f64::from(height)
    }

    /// The direction in which the mouse points.
    fn ray(&self) -> DVec3 {
        let [width, height] = self.picture_size().map(f64::from);
        let right = 2.0 * self.hand.place.x / width - 1.0;
        let up = 1.0 - 2.0 * self.hand.place.y / height;
        self.camera.ray(right, up, width / height)
    }

    /// Picks what is under the mouse.
    async fn pick(&mut self) -> Result<Thing> {
        let place = self.hand.place;
        let pixel = [place.x.max(0.0) as u32, place.y.max(0.0) as u32];
        let Some(stage) = &mut self.stage else {
            return Ok(Thing::Nothing);
        };
        let look = &self.shown;
        let thing = stage.renderer.thing_at_by(PATIENCE, pixel, look).await?;
        self.picked = match thing {
            Thing::Sphere(index) => {
                let body = stage.simulation.on_host().spheres[index as usize].body;
                Some(Picked::Body {
                    state: stage.simulation.body_at_by(PATIENCE, body).await?,
                })
            }
            Thing::Wall(index) => Some(Picked::Wall {
                index: index as usize,
            }),
            Thing::Nothing => None,
        };
        Ok(thing)
    }

    /// Picks what is under the mouse, and takes hold of it.
    async fn grab(&mut self) -> Result<()> {
        let thing = self.pick().await?;
        let (eye, way) = (self.camera.eye(), self.ray());
        match (&self.picked, thing, &self.stage) {
            (Some(Picked::Body { state }), Thing::Sphere(sphere), Some(stage)) if !state.fixed => {
                let clump = &stage.simulation.model().shapes[state.shape];
                let host = stage.simulation.on_host();
                let body = &host.bodies[state.index];
                let place = sphere as usize - body.first_sphere as usize;
                let member = host.members_of(body)[place];
                // From the principal frame.
                let turn = state.orientation * clump.principal_axes;
                let center = state.position + turn * member.center.as_dvec3();
                let distance = met(center - eye, way, member.radius.into());
                let place = eye + distance * way;
                let frequency = std::f64::consts::TAU / SWING;
                let pull = Pull {
                    body: state.index as u32,
                    point: turn.conjugate() * (place - state.position),
                    target: place,
                    stiffness: state.mass * frequency * frequency,
                    damping: 2.0 * state.mass * frequency,
                };
                let depth = (place - eye).dot(self.camera.axes().forward);
                self.hand.drag = Some(Drag::Pull { pull, depth });
            }
            (Some(Picked::Wall { index }), _, Some(stage))
                if stage.plane_normal(*index).is_some() =>
            {
                self.hand.drag = Some(Drag::Plane { index: *index });
            }
            _ => self.hand.drag = None,
        }
        Ok(())
    }

    /// Pulls the body that is held to where the mouse is.
    pub(super) fn keep_pulling(&mut self) {
        let Some(Drag::Pull { pull, depth }) = self.hand.drag else {
            return;
        };
        let way = self.ray();
        let distance = depth / way.dot(self.camera.axes().forward);
        let pull = Pull {
            target: self.camera.eye() + distance * way,
            ..pull
        };
        let (Some(stage), Some(Picked::Body { state })) = (&mut self.stage, &self.picked) else {
            return;
        };
        let clump = &stage.simulation.model().shapes[state.shape];
        let turn = state.orientation * clump.principal_axes;
        self.hand.line = Some(Line {
            start: state.position + turn * pull.point,
            end: pull.target,
            colour: LINE_COLOUR,
            width: 1.0,
        });
        let outcome = stage.simulation.set_pull(Some(pull));
        self.tell(outcome);
    }

    /// Moves a plane along its normal, as far as the mouse has moved along that in the picture.
    async fn push_plane(&mut self, index: usize, way: DVec2) {
        let axes = self.camera.axes();
        let metres = self.metres_of_pixel(self.camera.distance);
        let Some(stage) = &mut self.stage else { return };
        let Some(normal) = stage.plane_normal(index) else {
            return;
        };
        let seen = DVec2::new(normal.dot(axes.right), -normal.dot(axes.up));
        // Of a plane that is seen from straight in front, up is towards the viewer.
        let along = if seen.length() > 0.2 {
            way.dot(seen) / seen.length_squared()
        } else {
            -way.y
        };
        let outcome = stage
            .simulation
            .move_wall_by(
                PATIENCE,
                WallHandle::from_index(index),
                along * metres * normal,
            )
            .await;
        self.tell(outcome);
    }
}

/// Returns the distance along a unit vector at which a sphere is met; where the ray passes it, if it misses it.
fn met(center: DVec3, way: DVec3, radius: f64) -> f64 {
    let along = center.dot(way);
    let beside = (center - along * way).length_squared();
    along - (radius * radius - beside).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pollster::block_on;
    use winit::dpi::PhysicalPosition;
    use winit::event::{DeviceId, Modifiers};

    use super::super::watch::Watch;
    use super::super::{Setup, Viewer};
    use super::*;
    use crate::simulation::Options;

    fn viewer() -> Viewer {
        let setup = Setup {
            scene: PathBuf::from("scenes/stack.json"),
            options: Options::default(),
            size: [480, 360],
            paused: true,
            look: crate::render::Look::default(),
            colour: None,
            clip: None,
            up: None,
            panel: false,
            refuge: None,
            memory: 512 << 20,
            recent: None,
        };
        Viewer::new(setup, Watch::new(|_| ()))
    }

    /// Two fingers on a trackpad, with keys held.
    fn scroll(viewer: &mut Viewer, keys: ModifiersState, x: f64, y: f64) {
        let changed = WindowEvent::ModifiersChanged(Modifiers::from(keys));
        block_on(viewer.mouse(&changed, false));
        let scrolled = WindowEvent::MouseWheel {
            device_id: DeviceId::dummy(),
            delta: MouseScrollDelta::PixelDelta(PhysicalPosition::new(x, y)),
            phase: TouchPhase::Moved,
        };
        block_on(viewer.mouse(&scrolled, false));
    }

    #[test]
    fn two_fingers_turn_shift_and_zoom_as_the_mouse_does() {
        let mut viewer = viewer();
        let before = viewer.camera;
        scroll(&mut viewer, ModifiersState::empty(), 50.0, 20.0);
        let turned = viewer.camera;
        assert_eq!(turned.around, before.around - 50.0 * TURN);
        assert_eq!(turned.above, before.above + 20.0 * TURN);
        assert_eq!(
            (turned.target, turned.distance),
            (before.target, before.distance)
        );
        scroll(&mut viewer, ModifiersState::SHIFT, 0.5, -0.25);
        let shifted = viewer.camera;
        let axes = turned.axes();
        let way = shifted.target - turned.target;
        // A pixel is as long as the picture is high, which is one pixel without a window.
        let pixel = 2.0 * turned.slope() * turned.distance;
        assert!((way.dot(axes.right) + 0.5 * pixel).abs() < 1e-9 * pixel);
        assert!((way.dot(axes.up) + 0.25 * pixel).abs() < 1e-9 * pixel);
        assert_eq!(shifted.around, turned.around);
        scroll(&mut viewer, ModifiersState::CONTROL, 0.0, 100.0);
        assert!(viewer.camera.distance < 0.7 * shifted.distance);
        scroll(&mut viewer, ModifiersState::CONTROL, 0.0, -100.0);
        assert!((viewer.camera.distance / shifted.distance - 1.0).abs() < 1e-12);
        let pinched = WindowEvent::PinchGesture {
            device_id: DeviceId::dummy(),
            delta: 0.3,
            phase: TouchPhase::Moved,
        };
        block_on(viewer.mouse(&pinched, false));
        assert!(viewer.camera.distance < 0.8 * shifted.distance);
    }

    fn finger(viewer: &mut Viewer, id: u64, phase: TouchPhase, x: f64, y: f64) {
        let touch = WindowEvent::Touch(Touch {
            device_id: DeviceId::dummy(),
            phase,
            location: PhysicalPosition::new(x, y),
            force: None,
            id,
        });
        block_on(viewer.mouse(&touch, false));
    }

    #[test]
    fn a_finger_turns_and_two_shift_and_zoom() {
        let mut viewer = viewer();
        let before = viewer.camera;
        finger(&mut viewer, 7, TouchPhase::Started, 10.0, 10.0);
        finger(&mut viewer, 7, TouchPhase::Moved, 60.0, 30.0);
        let turned = viewer.camera;
        assert_eq!(turned.around, before.around - 50.0 * TURN);
        assert_eq!(turned.above, before.above + 20.0 * TURN);
        finger(&mut viewer, 8, TouchPhase::Started, 60.0, 130.0);
        // Twice as far apart.
        finger(&mut viewer, 8, TouchPhase::Moved, 60.0, 230.0);
        let zoomed = viewer.camera;
        assert_eq!(zoomed.distance, 0.5 * turned.distance);
        assert_ne!(zoomed.target, turned.target);
        assert_eq!(zoomed.around, turned.around);
        finger(&mut viewer, 7, TouchPhase::Ended, 60.0, 30.0);
        finger(&mut viewer, 8, TouchPhase::Ended, 60.0, 230.0);
        assert_eq!(viewer.camera, zoomed);
        finger(&mut viewer, 8, TouchPhase::Moved, 90.0, 90.0);
        assert_eq!(viewer.camera, zoomed);
    }

    #[test]
    fn what_the_panel_takes_does_nothing_to_the_camera() {
        let mut viewer = viewer();
        let before = viewer.camera;
        for event in [
            WindowEvent::MouseWheel {
                device_id: DeviceId::dummy(),
                delta: MouseScrollDelta::LineDelta(0.0, 3.0),
                phase: TouchPhase::Moved,
            },
            WindowEvent::MouseInput {
                device_id: DeviceId::dummy(),
                state: ElementState::Pressed,
                button: MouseButton::Left,
            },
            WindowEvent::CursorMoved {
                device_id: DeviceId::dummy(),
                position: PhysicalPosition::new(90.0, 50.0),
            },
        ] {
            block_on(viewer.mouse(&event, true));
        }
        assert_eq!(viewer.camera, before);
    }
}
