//! The panel beside the picture, and what lies over it. It changes only what is the window's own; what
//! is to be done with the simulation is returned as [`Wish`]es.

use std::path::PathBuf;

use egui::{Color32, RichText, Ui};
use egui_plot::{Line as Curve, Plot, PlotPoints};

use super::keys::{Action, KEYS, MOUSE};
use super::stage::Stage;
use super::{IN_PAGE, Mode, Notice, Picked, Viewer};
use crate::model::PairLaw;
use crate::model::view::{Background, Clip, ColourMap, Ground, Keep, Lines, WallLook};
use crate::output::Rounded;
use crate::render::legend::{AXES, Key, Legend, Scale, ticks};
use crate::render::{Camera, ColourBy, MOST_SAMPLES, colour};
use crate::scene::contact::{damping_ratio, restitution};

/// A change of the simulation that the user wants.
#[derive(Debug)]
pub(super) enum Wish {
    Do(Action),
    Open(PathBuf),
    Gravity(glam::DVec3),
    Drag(crate::model::forces::Drag),
    TimeStep(f64),
    Pair(usize, usize, PairLaw),
    /// To the state nearest to a time, s.
    Go(f64),
    /// The look of a wall.
    Wall(usize, WallLook),
    Dismiss,
}

/// Width of the panel, points.
pub(super) const WIDTH: f32 = 300.0;

impl Viewer {
    /// Draws everything that is no picture.
    pub(super) fn panel(&mut self, ui: &mut Ui) -> Vec<Wish> {
        let mut wishes = Vec::new();
        if self.panel_shown {
            egui::Panel::right("panel")
                .exact_size(WIDTH)
                .resizable(false)
                .show(ui, |ui| {
                    egui::ScrollArea::vertical().show(ui, |ui| {
                        self.sections(ui, &mut wishes);
                    });
                });
        }
        let context = ui.ctx().clone();
        if let Some(stage) = &self.stage {
            let look = &self.look;
            let span = stage.renderer.span(look);
            if let Some(legend) =
                Legend::new(look, span, self.overlay.as_ref(), stage.simulation.model())
            {
                legend_over(&context, &legend, self.panel_shown);
            }
        }
        if self.panel_shown {
            self.timeline_over(&context, &mut wishes);
            scale_over(&context, &self.camera);
        }
        if let Some(notice) = &self.notice {
            notice_over(&context, notice, &mut wishes);
        }
        if self.help_shown {
            help_over(&context, self.stage.as_ref(), &mut wishes);
        }
        wishes
    }

    fn sections(&mut self, ui: &mut Ui, wishes: &mut Vec<Wish>) {
        self.run_section(ui, wishes);
        self.scene_section(ui, wishes);
        self.view_section(ui, wishes);
        let Some(stage) = &self.stage else { return };
        egui::CollapsingHeader::new("Parameters")
            .default_open(true)
            .show(ui, |ui| {
                parameters(ui, stage, &mut self.pair, wishes);
            });
        egui::CollapsingHeader::new("Over time")
            .default_open(true)
            .show(ui, |ui| plots(ui, stage));
        if let Some(picked) = &self.picked {
            egui::CollapsingHeader::new("Picked")
                .default_open(true)
                .show(ui, |ui| picked_section(ui, stage, picked));
        }
        self.colours_section(ui);
        let Some(stage) = &self.stage else { return };
        if !stage.simulation.model().walls.is_empty() {
            egui::CollapsingHeader::new("Walls").show(ui, |ui| walls_section(ui, stage, wishes));
        }
    }

    /// The map, its range, and where the picture is cut.
    fn colours_section(&mut self, ui: &mut Ui) {
        let span = self
            .stage
            .as_ref()
            .map(|stage| stage.renderer.span(&self.look));
        egui::CollapsingHeader::new("Colours, ground and cut").show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.label("map");
                egui::ComboBox::from_id_salt("map")
                    .selected_text(self.look.map.name())
                    .show_ui(ui, |ui| {
                        for map in ColourMap::ALL {
                            ui.selectable_value(&mut self.look.map, map, map.name());
                        }
                    });
            });
            let mut fixed = self.look.top.is_some() && self.look.bottom.is_some();
            let [bottom, top] = span.unwrap_or([0.0, 1.0]);
            ui.horizontal(|ui| {
                if ui.checkbox(&mut fixed, "fixed range").changed() {
                    [self.look.bottom, self.look.top] = match fixed {
                        true => [Some(bottom), Some(top)],
                        false => [None; 2],
                    };
                }
                if let (true, Some(bottom), Some(top)) =
                    (fixed, &mut self.look.bottom, &mut self.look.top)
                {
                    let speed = f64::from(0.01 * (*top - *bottom)).max(1e-9);
                    ui.add(
                        egui::DragValue::new(bottom)
                            .speed(speed)
                            .range(f32::MIN..=*top),
                    );
                    ui.label("to");
                    ui.add(
                        egui::DragValue::new(top)
                            .speed(speed)
                            .range(*bottom..=f32::MAX),
                    );
                }
            });
            ui.horizontal(|ui| {
                ui.label("background");
                for (background, text) in [
                    (Background::Sky, "sky"),
                    (Background::Colour([255; 3]), "white"),
                    (Background::Colour([0; 3]), "black"),
                ] {
                    ui.selectable_value(&mut self.look.background, background, text);
                }
            });
            ui.horizontal(|ui| {
                ui.label("planes");
                for (ground, text) in [
                    (Ground::Tiles, "tiles"),
                    (Ground::Plain, "plain"),
                    (Ground::None, "hidden"),
                ] {
                    ui.selectable_value(&mut self.look.ground, ground, text);
                }
            });
            let mut cut = self.look.clip.is_some();
            ui.horizontal(|ui| {
                if ui.checkbox(&mut cut, "cut at").changed() {
                    let target = self.camera.target;
                    self.look.clip = cut.then_some(Clip {
                        axis: 0,
                        at: target.x,
                        keep: Keep::Far,
                    });
                }
                let Some(clip) = &mut self.look.clip else {
                    return;
                };
                for (axis, (name, _)) in AXES.into_iter().enumerate() {
                    if ui.selectable_label(clip.axis == axis, name).clicked() {
                        clip.axis = axis;
                        clip.at = self.camera.target[axis];
                    }
                }
                let speed = 2e-3 * self.camera.distance;
                ui.add(egui::DragValue::new(&mut clip.at).speed(speed).suffix(" m"));
            });
            if let Some(clip) = &mut self.look.clip {
                ui.horizontal(|ui| {
                    ui.label("stays");
                    for (keep, text) in [
                        (Keep::Far, "what is behind"),
                        (Keep::Below, "below"),
                        (Keep::Above, "above"),
                    ] {
                        ui.selectable_value(&mut clip.keep, keep, text);
                    }
                });
            }
        });
    }

    /// Where in time the picture is, below it.
    fn timeline_over(&mut self, context: &egui::Context, wishes: &mut Vec<Wish>) {
        let Some(stage) = &self.stage else { return };
        let now = stage.simulation.time();
        let [first, last] = stage.timeline.span(now);
        if stage.timeline.len() < 2 || last <= first {
            return;
        }
        let kept = stage.is_kept();
        let width = context.content_rect().width() - WIDTH - 24.0;
        egui::Area::new(egui::Id::unique("timeline"))
            .anchor(egui::Align2::LEFT_BOTTOM, [12.0, -12.0])
            .show(context, |ui| {
                egui::Frame::popup(ui.style()).show(ui, |ui| {
                    ui.set_width((width - 14.0).max(120.0));
                    ui.horizontal(|ui| {
                        let play = if self.clock.playing { "Pause" } else { "Play" };
                        if ui.button(play).on_hover_text("space").clicked() {
                            wishes.push(Wish::Do(Action::Play));
                        }
                        if kept {
                            ui.checkbox(&mut self.looped, "loop");
                        }
                        ui.spacing_mut().slider_width = (ui.available_width() - 90.0).max(60.0);
                        let mut time = if kept {
                            self.cursor.clamp(first, last)
                        } else {
                            now
                        };
                        let slider = egui::Slider::new(&mut time, first..=last)
                            .custom_formatter(|time, _| format!("{time:.4}"))
                            .suffix(" s");
                        if ui.add(slider).changed() {
                            wishes.push(Wish::Go(time));
                        }
                    });
                });
            });
    }

    fn run_section(&mut self, ui: &mut Ui, wishes: &mut Vec<Wish>) {
        ui.horizontal(|ui| {
            let mut button = |text: &str, key: &str, action| {
                if ui.button(text).on_hover_text(key).clicked() {
                    wishes.push(Wish::Do(action));
                }
            };
            let play = if self.clock.playing { "Pause" } else { "Play" };
            button(play, "space", Action::Play);
            button("Step", "s", Action::Step);
            button("Reset", "r", Action::Reset);
            let record = if self.recording.is_some() {
                "End film"
            } else {
                "Film"
            };
            // A page makes none.
            if !IN_PAGE {
                button(record, "o", Action::Record);
            }
        });
        ui.add(
            egui::Slider::new(&mut self.clock.speed, 1e-3..=10.0)
                .logarithmic(true)
                .suffix(" ×")
                .text("speed"),
        );
        let Some(stage) = &self.stage else { return };
        let achieved = match &self.recording {
            Some(recording) => format!("{} frames of a film", recording.frames),
            None if self.clock.playing => format!("real time × {}", Rounded(self.clock.achieved)),
            None => "paused".to_owned(),
        };
        let time = stage.simulation.time();
        ui.label(format!("t = {time:.4} s, {achieved}"));
        let milliseconds = |time: f64| format!("{:.1} ms", 1e3 * time);
        // In two lines, whatever the numbers: what is below stays where it is.
        ui.label(format!("frame {}", milliseconds(self.timing.frame)));
        ui.label(format!(
            "simulation {}, drawing {}",
            milliseconds(self.timing.simulation),
            milliseconds(self.timing.drawing),
        ));
        ui.separator();
    }

    fn scene_section(&mut self, ui: &mut Ui, wishes: &mut Vec<Wish>) {
        let name = |path: &PathBuf| {
            let stem = path.file_stem().unwrap_or_default();
            stem.to_string_lossy().into_owned()
        };
        egui::CollapsingHeader::new("Scene")
            .default_open(true)
            .show(ui, |ui| {
                ui.horizontal(|ui| {
                    // A page has a list of its own.
                    if self.scenes.is_empty() {
                        ui.label(name(&self.scene));
                        return;
                    }
                    egui::ComboBox::from_id_salt("scenes")
                        .selected_text(name(&self.scene))
                        .width(170.0)
                        .show_ui(ui, |ui| {
                            for path in &self.scenes {
                                let chosen = *path == self.scene;
                                if ui.selectable_label(chosen, name(path)).clicked() {
                                    wishes.push(Wish::Open(path.clone()));
                                }
                            }
                        });
                    if ui.button("Next").on_hover_text("n").clicked() {
                        wishes.push(Wish::Do(Action::Next));
                    }
                });
                let Some(stage) = &self.stage else { return };
                let model = stage.simulation.model();
                ui.label(format!(
                    "{} bodies, {} spheres",
                    model.bodies.len(),
                    model.sphere_count()
                ));
                ui.label(RichText::new(stage.simulation.adapter()).weak());
                for warning in &stage.warnings {
                    ui.colored_label(ui.visuals().warn_fg_color, warning);
                }
                if !stage.notes.is_empty() {
                    ui.collapsing("What was derived", |ui| {
                        for note in &stage.notes {
                            ui.label(note);
                        }
                    });
                }
            });
    }

    fn view_section(&mut self, ui: &mut Ui, wishes: &mut Vec<Wish>) {
        egui::CollapsingHeader::new("View")
            .default_open(true)
            .show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.label("colour");
                    egui::ComboBox::from_id_salt("colour")
                        .selected_text(self.look.colour_by.title())
                        .show_ui(ui, |ui| {
                            for by in ColourBy::ALL {
                                ui.selectable_value(&mut self.look.colour_by, by, by.title());
                            }
                        });
                    if ui.button("Fit").on_hover_text("f").clicked() {
                        wishes.push(Wish::Do(Action::Fit));
                    }
                });
                ui.horizontal(|ui| {
                    ui.label("lines");
                    let name = |lines: Option<Lines>| match lines {
                        None => "none",
                        Some(Lines::Contacts) => "contact network",
                        Some(lines) => lines.title(),
                    };
                    egui::ComboBox::from_id_salt("lines")
                        .selected_text(name(self.look.lines))
                        .show_ui(ui, |ui| {
                            let all = [None].into_iter().chain(Lines::ALL.map(Some));
                            for lines in all {
                                ui.selectable_value(&mut self.look.lines, lines, name(lines));
                            }
                        });
                });
                ui.horizontal(|ui| {
                    ui.label("mouse");
                    for (mode, text, action) in [
                        (Mode::Camera, "camera (v)", Action::Camera),
                        (Mode::Pick, "pick (p)", Action::Pick),
                    ] {
                        if ui.selectable_label(self.mode == mode, text).clicked() {
                            wishes.push(Wish::Do(action));
                        }
                    }
                    if ui.button("Help").on_hover_text("h").clicked() {
                        wishes.push(Wish::Do(Action::Help));
                    }
                });
                ui.add(
                    egui::Slider::new(&mut self.look.supersampling, 1..=MOST_SAMPLES)
                        .text("anti-aliasing"),
                );
            });
    }
}

fn parameters(ui: &mut Ui, stage: &Stage, (a, b): &mut (usize, usize), wishes: &mut Vec<Wish>) {
    let model = stage.simulation.model();
    let mut gravity = model.gravity;
    let mut changed = false;
    ui.horizontal(|ui| {
        ui.label("gravity");
        for component in [&mut gravity.x, &mut gravity.y, &mut gravity.z] {
            let value = egui::DragValue::new(component).speed(0.05).max_decimals(3);
            changed |= ui.add(value).changed();
        }
        ui.label("m/s²");
    });
    if changed {
        wishes.push(Wish::Gravity(gravity));
    }
    let mut drag = model.forces.groups[0].drag;
    let mut changed = false;
    ui.horizontal(|ui| {
        ui.label("drag");
        for (value, unit) in [(&mut drag.linear, "N s/m"), (&mut drag.angular, "N m s")] {
            let value = egui::DragValue::new(value).speed(0.01).max_decimals(4);
            changed |= ui.add(value.range(0.0..=f64::from(f32::MAX))).changed();
            ui.label(unit);
        }
    });
    if changed {
        wishes.push(Wish::Drag(drag));
    }
    let mut time_step = model.time_step;
    ui.horizontal(|ui| {
        ui.label("time step");
        let drag = egui::DragValue::new(&mut time_step)
            .speed(0.01 * model.time_step)
            .range(1e-12..=1.0)
            .custom_formatter(|value, _| Rounded(value).to_string());
        if ui.add(drag).changed() {
            wishes.push(Wish::TimeStep(time_step));
        }
        ui.label("s");
    });
    if let Some(limit) = stage.stable {
        let text = format!("stable up to {} s", Rounded(limit));
        if time_step > limit {
            ui.colored_label(ui.visuals().error_fg_color, text);
        } else {
            ui.label(RichText::new(text).weak());
        }
    }
    let names = &model.materials;
    if names.len() > 1 {
        ui.horizontal(|ui| {
            for (salt, which) in [("first", &mut *a), ("second", &mut *b)] {
                egui::ComboBox::from_id_salt(salt)
                    .selected_text(&names[*which])
                    .width(90.0)
                    .show_ui(ui, |ui| {
                        for (index, name) in names.iter().enumerate() {
                            ui.selectable_value(which, index, name);
                        }
                    });
            }
        });
    }
    let before = stage.pair(*a, *b);
    let mut law = before;
    contact_parameters(ui, &mut law);
    if law != before {
        wishes.push(Wish::Pair(*a, *b, law));
    }
}

fn contact_parameters(ui: &mut Ui, law: &mut PairLaw) {
    fn slider<'a>(value: &'a mut f64, most: f64, text: &'static str) -> egui::Slider<'a> {
        // What a scene has is not changed by being shown.
        let clamping = egui::SliderClamping::Edits;
        egui::Slider::new(value, 0.0..=most)
            .clamping(clamping)
            .text(text)
    }
    let mut stiffness = law.stiffness;
    let drag = egui::Slider::new(&mut stiffness, 1.0..=1e12)
        .logarithmic(true)
        .clamping(egui::SliderClamping::Edits)
        .custom_formatter(|value, _| Rounded(value).to_string())
        .text("stiffness");
    if ui.add(drag).changed() && law.stiffness > 0.0 {
        // The ratio of the two is that of the materials.
        law.wall_stiffness *= stiffness / law.stiffness;
        law.stiffness = stiffness;
    }
    let mut left = restitution(law.damping_ratio);
    if ui.add(slider(&mut left, 1.0, "restitution")).changed() {
        law.damping_ratio = damping_ratio(left);
        law.restitution = left;
    }
    ui.add(slider(&mut law.friction, 2.0, "friction"));
    ui.add(slider(&mut law.rolling_friction, 1.0, "rolling friction"));
}

fn plots(ui: &mut Ui, stage: &Stage) {
    let moments = &stage.history.moments;
    let last = stage.history.last();
    let points = |value: fn(&super::history::Moment) -> f64| -> PlotPoints<'_> {
        moments
            .iter()
            .map(|moment| [moment.time, value(moment)])
            .collect()
    };
    let plot = |name: &'static str| {
        Plot::new(name)
            .height(110.0)
            .show_axes([true, true])
            .x_axis_label("t (s)")
            .y_axis_min_width(34.0)
            .legend(egui_plot::Legend::default().position(egui_plot::Corner::RightTop))
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .include_y(0.0)
    };
    ui.label(format!("kinetic energy {} J", Rounded(last.kinetic)));
    plot("energy").show(ui, |ui| {
        ui.line(Curve::new("kinetic", points(|m| m.kinetic)))
    });
    ui.label(format!("contacts per body {}", Rounded(last.contacts)));
    plot("contacts").show(ui, |ui| {
        ui.line(Curve::new("contacts", points(|m| m.contacts)))
    });
    ui.label(format!(
        "speed {} m/s, fastest {}",
        Rounded(last.mean_speed),
        Rounded(last.fastest)
    ));
    plot("speed").show(ui, |ui| {
        ui.line(Curve::new("mean", points(|m| m.mean_speed)));
        ui.line(Curve::new("fastest", points(|m| m.fastest)));
    });
}

fn picked_section(ui: &mut Ui, stage: &Stage, picked: &Picked) {
    let model = stage.simulation.model();
    match picked {
        Picked::Body { state, .. } => {
            let shape = &model.shapes[state.shape].name;
            let fixed = if state.fixed { ", fixed" } else { "" };
            ui.label(format!("body {} ({shape}{fixed})", state.index));
            egui::Grid::new("picked").num_columns(2).show(ui, |ui| {
                let mut row = |name: &str, value: String| {
                    ui.label(name);
                    ui.label(value);
                    ui.end_row();
                };
                let vector = |v: glam::DVec3| format!("{:.4}, {:.4}, {:.4}", v.x, v.y, v.z);
                row("mass (kg)", Rounded(state.mass).to_string());
                row("position (m)", vector(state.position));
                row("velocity (m/s)", vector(state.velocity));
                row("spin (rad/s)", vector(state.angular_velocity));
                let host = stage.simulation.on_host();
                let load = host.load(&host.bodies[state.index]);
                row("contacts", load.contacts.to_string());
                row("force (N)", vector(load.force.as_dvec3()));
            });
        }
        Picked::Wall { index } => {
            ui.label(format!("wall {index} ({})", model.walls[*index].name));
        }
    }
}

/// The looks of walls, one row each.
fn walls_section(ui: &mut Ui, stage: &Stage, wishes: &mut Vec<Wish>) {
    let walls = stage.simulation.model().walls.iter().enumerate();
    egui::Grid::new("walls").num_columns(4).show(ui, |ui| {
        for (index, wall) in walls {
            let before = stage.renderer.scene().wall(index);
            let mut look = before;
            ui.checkbox(&mut look.visible, &wall.name);
            let mut chosen = look.opacity.is_some();
            ui.checkbox(&mut chosen, "opacity");
            let mut opacity = look.opacity.unwrap_or(1.0);
            let drag = egui::DragValue::new(&mut opacity)
                .range(0.0..=1.0)
                .speed(0.01);
            ui.add_enabled(chosen, drag.max_decimals(2));
            look.opacity = chosen.then_some(opacity);
            let mut colour = look.colour.unwrap_or([170, 181, 193]);
            if ui.color_edit_button_srgb(&mut colour).changed() {
                look.colour = Some(colour);
            }
            ui.end_row();
            if look != before {
                wishes.push(Wish::Wall(index, look));
            }
        }
    });
}

/// The length of a bar and the axes, in the corner below, above the timeline.
fn scale_over(context: &egui::Context, camera: &Camera) {
    let scale = Scale::new(camera);
    let whole = context.content_rect();
    let painter = context.layer_painter(egui::LayerId::background());
    let ink = Color32::from_rgb(24, 28, 32);
    let (right, bottom) = (whole.right() - WIDTH - 16.0, whole.bottom() - 66.0);
    let length = (scale.bar * f64::from(whole.height())) as f32;
    let place = egui::pos2(right - length, bottom);
    let line = [place, egui::pos2(right, bottom)];
    painter.line_segment(line, egui::Stroke::new(2.0, ink));
    let font = egui::FontId::proportional(13.0);
    let above = egui::pos2(right - 0.5 * length, bottom - 3.0);
    painter.text(
        above,
        egui::Align2::CENTER_BOTTOM,
        &scale.text,
        font.clone(),
        ink,
    );
    let arm = 24.0;
    let center = egui::pos2(right - 1.4 * arm, bottom - 2.6 * arm);
    for ((name, [r, g, b]), way) in AXES.into_iter().zip(scale.axes) {
        let colour = Color32::from_rgb(r, g, b);
        let way = egui::vec2(way.x as f32, -way.y as f32);
        painter.line_segment([center, center + arm * way], egui::Stroke::new(2.0, colour));
        let end = center + 1.3 * arm * way;
        painter.text(end, egui::Align2::CENTER_CENTER, name, font.clone(), colour);
    }
}

fn legend_over(context: &egui::Context, legend: &Legend, raised: bool) {
    // Above the timeline.
    let aside = if raised { -60.0 } else { -12.0 };
    egui::Area::new(egui::Id::unique("legend"))
        .anchor(egui::Align2::LEFT_BOTTOM, [12.0, aside])
        .interactable(false)
        .show(context, |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                ui.label(legend.title);
                let paint = |ui: &mut Ui, size, colour: [u8; 3]| {
                    let (place, _) = ui.allocate_exact_size(size, egui::Sense::hover());
                    let [r, g, b] = colour;
                    ui.painter()
                        .rect_filled(place, 0.0, Color32::from_rgb(r, g, b));
                };
                match &legend.key {
                    Key::Map { bottom, top, map } => {
                        ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
                        ui.horizontal(|ui| {
                            for k in 0..100 {
                                let colour = colour::map(*map, f64::from(k) / 99.0);
                                paint(ui, egui::vec2(2.0, 12.0), colour);
                            }
                        });
                        ui.columns(3, |columns| {
                            let aligned = [egui::Align::Min, egui::Align::Center, egui::Align::Max];
                            for ((ui, align), (_, text)) in
                                columns.iter_mut().zip(aligned).zip(ticks(*bottom, *top))
                            {
                                ui.with_layout(egui::Layout::top_down(align), |ui| ui.label(text));
                            }
                        });
                    }
                    Key::Names(names) => {
                        for (name, colour) in names {
                            ui.horizontal(|ui| {
                                paint(ui, egui::vec2(12.0, 12.0), *colour);
                                ui.label(name);
                            });
                        }
                    }
                }
            });
        });
}

fn notice_over(context: &egui::Context, notice: &Notice, wishes: &mut Vec<Wish>) {
    egui::Area::new(egui::Id::unique("notice"))
        .anchor(egui::Align2::LEFT_TOP, [12.0, 12.0])
        .show(context, |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                ui.set_max_width(520.0);
                ui.horizontal_top(|ui| {
                    if ui.button("x").clicked() {
                        wishes.push(Wish::Dismiss);
                    }
                    let text = RichText::new(&notice.sentence);
                    let text = match notice.is_error {
                        true => text.color(ui.visuals().error_fg_color),
                        false => text,
                    };
                    ui.add(egui::Label::new(text).wrap().selectable(true));
                });
            });
        });
}

fn help_over(context: &egui::Context, stage: Option<&Stage>, wishes: &mut Vec<Wish>) {
    let mut open = true;
    egui::Window::new("Help")
        .open(&mut open)
        .collapsible(false)
        .resizable(false)
        .anchor(egui::Align2::CENTER_CENTER, [0.0, 0.0])
        .show(context, |ui| {
            egui::Grid::new("keys")
                .num_columns(2)
                .striped(true)
                .show(ui, |ui| {
                    let pushes = stage.map(|stage| &stage.simulation.model().forces.applied);
                    for push in pushes.into_iter().flatten() {
                        let Some(key) = push.key else { continue };
                        ui.label(RichText::new(key).strong());
                        ui.label(format!("{}, while it is down", push.name));
                        ui.end_row();
                    }
                    for (keys, _, what) in KEYS {
                        ui.label(RichText::new(keys.join(", ")).strong());
                        ui.label(*what);
                        ui.end_row();
                    }
                    for (gesture, what) in MOUSE {
                        ui.label(RichText::new(*gesture).strong());
                        ui.label(*what);
                        ui.end_row();
                    }
                });
        });
    if !open {
        wishes.push(Wish::Do(Action::Help));
    }
}
