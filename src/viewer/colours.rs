//! Colours of the panel and of what lies over the picture. Letters stand out from what is behind them by 4.5 to 1 at least, and
//! curves by 3 to 1, as WCAG 2.1 asks for (success criteria 1.4.3 and 1.4.11, level AA).

use egui::{Color32, Visuals};

/// Lines of a scene's file that are new; those that go have the colour of errors.
pub(super) const NEW: Color32 = Color32::from_rgb(120, 210, 130);

/// The axes, from x to z.
pub(super) const AXES: [Color32; 3] = [
    Color32::from_rgb(255, 130, 120),
    Color32::from_rgb(120, 210, 130),
    Color32::from_rgb(140, 175, 255),
];

/// Curves of a plot, one after the other: of those that the colour-blind tell apart (Okabe and Ito, "Color Universal Design", 2008).
pub(super) const CURVES: [Color32; 6] = [
    Color32::from_rgb(86, 180, 233),
    Color32::from_rgb(230, 159, 0),
    Color32::from_rgb(0, 158, 115),
    Color32::from_rgb(240, 228, 66),
    Color32::from_rgb(204, 121, 167),
    Color32::from_rgb(213, 94, 0),
];

/// The dark colours of egui, with letters that can be read. They are taken whatever the system prefers: beside a picture, light ones
/// would blind.
pub(super) fn visuals() -> Visuals {
    let mut visuals = Visuals::dark();
    visuals.widgets.noninteractive.fg_stroke.color = Color32::from_gray(185);
    visuals.weak_text_color = Some(Color32::from_gray(150));
    visuals.error_fg_color = Color32::from_rgb(255, 120, 110);
    visuals
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast of two colours, as WCAG 2.1 defines it.
    fn contrast(a: Color32, b: Color32) -> f32 {
        let luminance = |colour: Color32| {
            let [r, g, b, _] = egui::Rgba::from(colour).to_array();
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
        };
        let (a, b) = (luminance(a), luminance(b));
        a.max(b) / a.min(b)
    }

    /// Colours behind letters: panels, windows, plots, and every second row of a table.
    fn behind(visuals: &Visuals) -> [Color32; 4] {
        let stripe = visuals.panel_fill.r() + visuals.faint_bg_color.r();
        [
            visuals.panel_fill,
            visuals.window_fill,
            visuals.extreme_bg_color,
            Color32::from_gray(stripe),
        ]
    }

    fn letters(visuals: &Visuals) -> Vec<Color32> {
        let mut letters = vec![
            visuals.text_color(),
            visuals.weak_text_color(),
            visuals.strong_text_color(),
            visuals.error_fg_color,
            visuals.warn_fg_color,
            visuals.hyperlink_color,
            NEW,
        ];
        letters.extend(AXES);
        letters
    }

    #[test]
    fn contrast_is_that_of_the_standard() {
        assert!((contrast(Color32::WHITE, Color32::BLACK) - 21.0).abs() < 1e-3);
        // https://www.w3.org/WAI/WCAG21/Understanding/contrast-minimum: #767676 is the lightest grey on white.
        let grey = Color32::from_gray(0x76);
        assert!((contrast(grey, Color32::WHITE) - 4.54).abs() < 0.01);
    }

    #[test]
    fn letters_can_be_read() {
        let visuals = visuals();
        for letters in letters(&visuals) {
            for behind in behind(&visuals) {
                let found = contrast(letters, behind);
                assert!(found >= 4.5, "{letters:?} on {behind:?}: {found}");
            }
        }
        // What is pressed or chosen has a colour of its own behind it.
        let widgets = &visuals.widgets;
        for widget in [
            widgets.noninteractive,
            widgets.inactive,
            widgets.hovered,
            widgets.active,
            widgets.open,
        ] {
            for behind in [widget.bg_fill, widget.weak_bg_fill] {
                let found = contrast(widget.text_color(), behind);
                assert!(found >= 4.5, "{widget:?}: {found}");
            }
        }
        let chosen = visuals.selection;
        assert!(contrast(chosen.stroke.color, chosen.bg_fill) >= 4.5);
        for curve in CURVES {
            assert!(
                contrast(curve, visuals.extreme_bg_color) >= 3.0,
                "{curve:?}"
            );
        }
        // Those of egui itself cannot.
        let own = Visuals::dark();
        assert!(contrast(own.error_fg_color, own.panel_fill) < 4.5);
        assert!(contrast(own.weak_text_color(), own.panel_fill) < 4.5);
    }
}
