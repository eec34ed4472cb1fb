//! The panel beside the picture, and what lies over it. It changes only what is the window's own; what
//! is to be done with the simulation is returned as [`Wish`]es.

use std::path::{Path, PathBuf};

use egui::{Color32, RichText, Ui};
use egui_plot::{AxisHints, Line as Curve, Plot, PlotPoints};

use super::colours;
use super::draft::{Changed, Draft};
use super::history::{Column, History};
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
#[derive(Clone, Debug)]
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
    /// Writes what was tuned into the scene's file, as was shown.
    Write,
    Dismiss,
}

impl Wish {
    /// Whether it changes the same parameter as another one.
    pub fn tunes_as(&self, other: &Wish) -> bool {
        match (self, other) {
            (Wish::Gravity(_), Wish::Gravity(_))
            | (Wish::Drag(_), Wish::Drag(_))
            | (Wish::TimeStep(_), Wish::TimeStep(_)) => true,
            (Wish::Pair(a, b, _), Wish::Pair(c, d, _)) => (a, b) == (c, d),
            (Wish::Wall(a, _), Wish::Wall(b, _)) => a == b,
            _ => false,
        }
    }
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
        if let Some(draft) = &self.draft {
            draft_over(&context, draft, &mut wishes);
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
        let Some(stage) = &mut self.stage else { return };
        let model = stage.simulation.shared_model();
        if !stage.is_kept() {
            let can_undo = !self.undo.is_empty();
            egui::CollapsingHeader::new("Parameters")
                .default_open(true)
                .show(ui, |ui| {
                    parameters(ui, stage, &mut self.pair, wishes);
                    ui.horizontal(|ui| {
                        let undo = egui::Button::new("Undo");
                        let hint = "the last change of a parameter (u, ctrl+z)";
                        if ui.add_enabled(can_undo, undo).on_hover_text(hint).clicked() {
                            wishes.push(Wish::Do(Action::Undo));
                        }
                        // A page has no files.
                        let save = egui::Button::new("Save to the scene");
                        let hint = "shows what would change in the file (ctrl+s)";
                        if !IN_PAGE && ui.add_enabled(can_undo, save).on_hover_text(hint).clicked()
                        {
                            wishes.push(Wish::Do(Action::Save));
                        }
                    });
                });
        }
        let now = stage.simulation.time();
        egui::CollapsingHeader::new("Over time")
            .default_open(true)
            .show(ui, |ui| plots(ui, &mut stage.history, now));
        if let Some(picked) = &self.picked {
            egui::CollapsingHeader::new("Picked")
                .default_open(true)
                .show(ui, |ui| picked_section(ui, stage, picked));
        }
        let flow = &model.flow;
        let counts = flow.inlets.len() + flow.outlets.len() + flow.probes.len();
        if !model.walls.is_empty() || counts > 0 {
            let shown = egui::CollapsingHeader::new("Forces and probes")
                .show(ui, |ui| forces_section(ui, &stage.history, now));
            let is_open = shown.body_returned.is_some();
            if is_open && !stage.history.is_looked_into {
                stage.history.look_again();
            }
            stage.history.is_looked_into = is_open;
        }
        self.colours_section(ui);
        let Some(stage) = &self.stage else { return };
        if !model.walls.is_empty() {
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
            ui.add(
                egui::Slider::new(&mut self.look.supersampling, 1..=MOST_SAMPLES)
                    .text("anti-aliasing"),
            );
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

    /// Shows the time of the picture, below it.
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
        // In a line of its own, whatever the numbers: what is below stays where it is.
        let of_frame = format!(
            "frame {:.1} ms (steps {:.1}, picture {:.1})",
            1e3 * self.timing.frame,
            1e3 * self.timing.simulation,
            1e3 * self.timing.drawing,
        );
        let hint = "steps are taken while the picture is drawn";
        ui.add(egui::Label::new(of_frame).truncate())
            .on_hover_text(hint);
        ui.separator();
    }

    fn scene_section(&mut self, ui: &mut Ui, wishes: &mut Vec<Wish>) {
        let name = |path: &Path| {
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
                // A page has no disk.
                if !IN_PAGE {
                    ui.horizontal(|ui| {
                        if ui.button("Open").on_hover_text("ctrl+o").clicked() {
                            wishes.push(Wish::Do(Action::Open));
                        }
                        ui.menu_button("Recent", |ui| {
                            for path in self.recent.paths() {
                                let text = path.display().to_string();
                                if ui.button(name(path)).on_hover_text(text).clicked() {
                                    wishes.push(Wish::Open(path.to_owned()));
                                }
                            }
                        });
                        if ui.button("Gallery").on_hover_text("a").clicked() {
                            wishes.push(Wish::Do(Action::Gallery));
                        }
                    });
                }
                let Some(stage) = &self.stage else { return };
                let counts = format!(
                    "{} bodies, {} spheres, {}",
                    stage.simulation.body_count(),
                    stage.simulation.sphere_count(),
                    stage.simulation.adapter()
                );
                ui.add(egui::Label::new(counts).truncate());
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
        if let Some(limit) = stage.stable {
            let text = RichText::new(format!("limit {}", Rounded(limit)));
            let text = match time_step > limit {
                true => text.color(ui.visuals().error_fg_color),
                false => text,
            };
            ui.label(text)
                .on_hover_text("the largest time step that is stable, s");
        }
    });
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

/// The curves of the columns that are chosen, a plot for each unit.
fn plots(ui: &mut Ui, history: &mut History, now: f64) {
    let shown = |column: &&Column| column.shown;
    ui.horizontal(|ui| {
        let count = history.columns.iter().filter(shown).count();
        let text = match count {
            1 => "1 column".to_owned(),
            count => format!("{count} columns"),
        };
        ui.menu_button(text, |ui| {
            egui::ScrollArea::vertical()
                .max_height(320.0)
                .show(ui, |ui| {
                    let mut changed = false;
                    for column in &mut history.columns {
                        let text = titled(&column.name, column.unit);
                        changed |= ui.checkbox(&mut column.shown, text).changed();
                    }
                    if changed {
                        history.look_again();
                    }
                });
        });
        ui.label("of statistics.csv");
    });
    let mut units: Vec<&str> = Vec::new();
    for column in history.columns.iter().filter(shown) {
        if !units.contains(&column.unit) {
            units.push(column.unit);
        }
    }
    let last = history.at(now);
    for unit in units {
        let of = history.columns.iter().enumerate();
        let of = of.filter(|(_, column)| column.shown && column.unit == unit);
        let legend = egui_plot::Legend::default().position(egui_plot::Corner::LeftTop);
        let axis = if unit.is_empty() { "number" } else { unit };
        // Numbers that fade where they are near each other cannot be read.
        // And what an axis takes is to be there in the first picture, after which there may be no other.
        let across = AxisHints::new_x().label("t (s)").min_thickness(34.0);
        let along = AxisHints::new_y().label(axis).min_thickness(40.0);
        Plot::new(("plot", unit))
            .height(92.0)
            .show_axes([true, true])
            .custom_x_axes(vec![across.label_spacing(egui::Rangef::new(60.0, 60.01))])
            .custom_y_axes(vec![along.label_spacing(egui::Rangef::new(20.0, 20.01))])
            .legend(legend)
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .include_y(0.0)
            .show(ui, |ui| {
                for (place, (index, column)) in of.enumerate() {
                    let points = history.moments.iter();
                    let points = points.map(|moment| [moment.time, moment.values[index]]);
                    let points: PlotPoints = points.filter(|[_, value]| !value.is_nan()).collect();
                    let value = last.map(|moment| moment.values[index]);
                    let name = match value.filter(|value| !value.is_nan()) {
                        Some(value) => format!("{} {}", column.name, Rounded(value)),
                        None => column.name.clone(),
                    };
                    let colour = colours::CURVES[place % colours::CURVES.len()];
                    ui.line(
                        Curve::new(name, points)
                            .id(column.key.as_str())
                            .color(colour),
                    );
                }
            });
    }
}

fn titled(name: &str, unit: &str) -> String {
    match unit {
        "" => name.to_owned(),
        unit => format!("{name} ({unit})"),
    }
}

/// Endings of the columns of inlets, outlets, probes and walls that do work.
const COUNTED: [&str; 3] = ["_bodies", "_mass_kg", "_power_W"];

/// The force of contacts on each wall, and what inlets, outlets and probes count, as they are now.
fn forces_section(ui: &mut Ui, history: &History, now: f64) {
    let Some(moment) = history.at(now) else {
        return;
    };
    let of = history.columns.iter().zip(&moment.values);
    let value = |key: &str| {
        let found = of.clone().find(|(column, _)| column.key == key);
        found.map_or(f64::NAN, |(_, value)| *value)
    };
    let of_walls: Vec<&str> = history
        .columns
        .iter()
        .filter_map(|column| column.key.strip_suffix("_force_x_N"))
        .collect();
    egui::Grid::new("forces")
        .num_columns(4)
        .striped(true)
        .show(ui, |ui| {
            for text in ["force (N)", "x", "y", "z"] {
                ui.label(text);
            }
            ui.end_row();
            for wall in &of_walls {
                ui.label(wall.replace('_', " "));
                for axis in ["x", "y", "z"] {
                    let force = value(&format!("{wall}_force_{axis}_N"));
                    ui.label(told(force));
                }
                ui.end_row();
            }
        });
    let is_counted = |key: &str| {
        let is_velocity = key.contains("_velocity_") && key.ends_with("_m_per_s");
        is_velocity || COUNTED.iter().any(|ending| key.ends_with(ending))
    };
    let counted = of.filter(|(column, _)| is_counted(&column.key));
    egui::Grid::new("probes")
        .num_columns(2)
        .striped(true)
        .show(ui, |ui| {
            for (column, value) in counted {
                ui.label(titled(&column.name, column.unit));
                ui.label(told(*value));
                ui.end_row();
            }
        });
}

fn told(value: f64) -> String {
    match value.is_nan() {
        true => "-".to_owned(),
        // Without a zero below zero.
        false => Rounded(value + 0.0).to_string(),
    }
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
    /// Length of an axis across the line of sight, points.
    const ARM: f32 = 24.0;
    let scale = Scale::new(camera);
    let whole = context.content_rect();
    let visuals = colours::visuals();
    let ink = visuals.text_color();
    let painter = context.layer_painter(egui::LayerId::background());
    let font = egui::FontId::proportional(13.0);
    let length = (scale.bar * f64::from(whole.height())) as f32;
    let corner = egui::pos2(whole.right() - WIDTH - 12.0, whole.bottom() - 60.0);
    let width = length.max(2.8 * ARM) + 16.0;
    let frame = egui::Rect::from_min_max(corner - egui::vec2(width, 2.8 * ARM + 34.0), corner);
    painter.rect_filled(frame, visuals.window_corner_radius, visuals.window_fill);
    let (middle, bottom) = (frame.center().x, frame.bottom() - 8.0);
    let line = [
        egui::pos2(middle - 0.5 * length, bottom),
        egui::pos2(middle + 0.5 * length, bottom),
    ];
    painter.line_segment(line, egui::Stroke::new(2.0, ink));
    let above = egui::pos2(middle, bottom - 3.0);
    let align = egui::Align2::CENTER_BOTTOM;
    painter.text(above, align, &scale.text, font.clone(), ink);
    let center = egui::pos2(middle, frame.top() + 1.4 * ARM + 4.0);
    for (((name, _), colour), way) in AXES.into_iter().zip(colours::AXES).zip(scale.axes) {
        let way = egui::vec2(way.x as f32, -way.y as f32);
        painter.line_segment([center, center + ARM * way], egui::Stroke::new(2.0, colour));
        let end = center + 1.3 * ARM * way;
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

/// Shows the change of the scene's file, over the picture.
fn draft_over(context: &egui::Context, draft: &Draft, wishes: &mut Vec<Wish>) {
    let mut open = true;
    egui::Window::new(format!("Save to {}", draft.path.display()))
        .open(&mut open)
        .collapsible(false)
        .resizable(false)
        .default_width(560.0)
        .anchor(egui::Align2::CENTER_CENTER, [-0.5 * WIDTH, 0.0])
        .show(context, |ui| {
            egui::ScrollArea::both().max_height(320.0).show(ui, |ui| {
                for (change, line) in &draft.lines {
                    let (sign, colour) = match change {
                        Changed::Gone => ("-", ui.visuals().error_fg_color),
                        Changed::New => ("+", colours::NEW),
                        Changed::Not => (" ", ui.visuals().text_color()),
                    };
                    let text = RichText::new(format!("{sign} {line}")).color(colour);
                    ui.add(egui::Label::new(text).extend());
                }
            });
            for sentence in &draft.left_out {
                ui.colored_label(ui.visuals().warn_fg_color, sentence);
            }
            ui.horizontal(|ui| {
                let save = egui::Button::new("Save");
                if ui.add_enabled(draft.changes(), save).clicked() {
                    wishes.push(Wish::Write);
                }
                if ui.button("Cancel").clicked() {
                    wishes.push(Wish::Dismiss);
                }
            });
        });
    if !open {
        wishes.push(Wish::Dismiss);
    }
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
