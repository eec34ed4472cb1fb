//! The panel beside the picture, and what lies over it. It changes only what is the window's own; what
//! is to be done with the simulation is returned as [`Wish`]es.

use std::path::PathBuf;

use egui::{Color32, RichText, Ui};
use egui_plot::{Line as Curve, Plot, PlotPoints};

use super::keys::{Action, KEYS, MOUSE};
use super::stage::Stage;
use super::{Mode, Picked, Viewer};
use crate::model::PairLaw;
use crate::output::Rounded;
use crate::render::legend::{Key, Legend, ticks};
use crate::render::{ColourBy, MOST_SAMPLES, colour};
use crate::scene::contact::{damping_ratio, restitution};

/// What the user wants of the simulation.
#[derive(Debug)]
pub(super) enum Wish {
    Do(Action),
    Open(PathBuf),
    Gravity(glam::DVec3),
    Drag(crate::model::forces::Drag),
    TimeStep(f64),
    Pair(usize, usize, PairLaw),
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
            if let Some(legend) = Legend::new(look, span, stage.simulation.model()) {
                legend_over(&context, &legend);
            }
        }
        if let Some(sentence) = &self.notice {
            notice_over(&context, sentence, &mut wishes);
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
            button(record, "o", Action::Record);
        });
        ui.add(
            egui::Slider::new(&mut self.clock.speed, 1e-3..=10.0)
                .logarithmic(true)
                .text("s of it a second"),
        );
        let Some(stage) = &self.stage else { return };
        let achieved = match &self.recording {
            Some(recording) => format!("{} frames of a film", recording.frames),
            None if self.clock.playing => format!("achieved {}", Rounded(self.clock.achieved)),
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
                        .text("samples a side"),
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
            .height(70.0)
            .show_axes([false, true])
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .include_y(0.0)
    };
    ui.label(format!("kinetic energy {} J", Rounded(last.kinetic)));
    plot("energy").show(ui, |ui| {
        ui.line(Curve::new("kinetic", points(|m| m.kinetic)))
    });
    ui.label(format!("contacts of a body {}", Rounded(last.contacts)));
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

fn legend_over(context: &egui::Context, legend: &Legend) {
    egui::Area::new(egui::Id::unique("legend"))
        .anchor(egui::Align2::LEFT_BOTTOM, [12.0, -12.0])
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

fn notice_over(context: &egui::Context, sentence: &str, wishes: &mut Vec<Wish>) {
    egui::Area::new(egui::Id::unique("notice"))
        .anchor(egui::Align2::LEFT_TOP, [12.0, 12.0])
        .show(context, |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                ui.set_max_width(520.0);
                ui.horizontal_top(|ui| {
                    if ui.button("x").clicked() {
                        wishes.push(Wish::Dismiss);
                    }
                    let text = RichText::new(sentence).color(ui.visuals().error_fg_color);
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
                    let pushes = stage.map(|stage| &stage.simulation.model().forces.pushes);
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
