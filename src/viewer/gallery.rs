//! All scenes and kept runs of a folder, with pictures, which a thread of its own makes one after the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use egui::{RichText, TextureHandle, Ui};
use image::RgbaImage;
use winit::window::Window;

use super::keys::Action;
use super::panel::Wish;
use super::stage;
use crate::model::error::Error;
use crate::model::{ContactModel, Model};
use crate::output::{KeptRun, RunFolder};
use crate::render::{Shot, Studio};
use crate::scene;
use crate::simulation::Simulation;
use crate::step::gpu::Context;

/// Size of a picture, pixels; and points in the window.
const SIZE: [u32; 2] = [448, 280];
const SHOWN: egui::Vec2 = egui::vec2(224.0, 140.0);

/// Pictures that wait to be shown, at most.
const WAITING: usize = 4;

/// The scenes of a folder.
pub(super) struct Gallery {
    pub folder: PathBuf,
    cards: Vec<Card>,
    /// The pictures as they come; the thread ends when this is gone.
    drawn: Receiver<(usize, Drawn)>,
}

/// A picture, or why there is none.
type Drawn = Result<RgbaImage, String>;

struct Card {
    path: PathBuf,
    name: String,
    picture: Option<Result<TextureHandle, String>>,
}

impl Gallery {
    /// Whether a path is a folder to be shown so: it has scenes or runs, and is no run itself.
    pub fn is_of(path: &Path) -> bool {
        path.is_dir() && !path.join(RunFolder::RECORD).is_file() && !entries(path).is_empty()
    }

    /// The scenes of a folder, and the thread that draws their pictures on `context`; `window` is told of each.
    pub fn open(
        folder: &Path,
        context: &Context,
        window: &Arc<Window>,
    ) -> (Gallery, Option<JoinHandle<()>>) {
        let paths = entries(folder);
        let (sender, drawn) = sync_channel(WAITING);
        let card = |path: &PathBuf| Card {
            path: path.clone(),
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            picture: None,
        };
        let cards = paths.iter().map(card).collect();
        let (context, window) = (context.clone(), Arc::clone(window));
        // Without it, there are names.
        let thread = std::thread::Builder::new()
            .name("gallery".to_owned())
            .spawn(move || draw(&paths, &context, &window, &sender));
        let gallery = Gallery {
            folder: folder.to_owned(),
            cards,
            drawn,
        };
        (gallery, thread.ok())
    }

    /// Shows the cards, in as many columns as there is room for.
    pub fn show(&mut self, ui: &mut Ui, has_scene: bool) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for (index, drawn) in self.drawn.try_iter() {
            let card = &mut self.cards[index];
            card.picture = Some(drawn.map(|picture| {
                let size = SIZE.map(|side| side as usize);
                let image = egui::ColorImage::from_rgba_unmultiplied(size, &picture);
                let options = egui::TextureOptions::LINEAR;
                ui.ctx().load_texture(&card.name, image, options)
            }));
        }
        egui::CentralPanel::default().show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.heading(self.folder.display().to_string());
                let waiting = self.cards.iter().filter(|card| card.picture.is_none());
                let waiting = waiting.count();
                if waiting > 0 {
                    ui.label(RichText::new(format!("{waiting} pictures to come")).weak());
                }
                if has_scene && ui.button("Back").on_hover_text("a").clicked() {
                    wishes.push(Wish::Do(Action::Gallery));
                }
                if ui.button("Open").on_hover_text("ctrl+o").clicked() {
                    wishes.push(Wish::Do(Action::Open));
                }
            });
            ui.separator();
            egui::ScrollArea::vertical()
                .auto_shrink(false)
                .show(ui, |ui| {
                    ui.horizontal_wrapped(|ui| {
                        for card in &self.cards {
                            if card.show(ui) {
                                wishes.push(Wish::Open(card.path.clone()));
                            }
                        }
                    });
                });
        });
        wishes
    }
}

impl Card {
    /// Shows it; returns whether it is clicked.
    fn show(&self, ui: &mut Ui) -> bool {
        let size = SHOWN + egui::vec2(12.0, 34.0);
        let (place, response) = ui.allocate_exact_size(size, egui::Sense::click());
        let visuals = *ui.style().interact(&response);
        let painter = ui.painter();
        painter.rect_filled(place, 4.0, visuals.bg_fill);
        let inner = egui::Rect::from_min_size(place.min + egui::vec2(6.0, 6.0), SHOWN);
        let whole = egui::Rect::from_min_max(egui::Pos2::ZERO, egui::pos2(1.0, 1.0));
        let sentence = match &self.picture {
            Some(Ok(picture)) => {
                painter.image(picture.id(), inner, whole, egui::Color32::WHITE);
                None
            }
            Some(Err(sentence)) => Some((sentence.as_str(), ui.visuals().error_fg_color)),
            None => Some(("...", ui.visuals().weak_text_color())),
        };
        if let Some((sentence, colour)) = sentence {
            let font = egui::FontId::proportional(11.0);
            let galley = painter.layout(sentence.to_owned(), font, colour, SHOWN.x);
            painter
                .with_clip_rect(inner)
                .galley(inner.min, galley, colour);
        }
        let below = egui::pos2(place.center().x, place.max.y - 6.0);
        let font = egui::FontId::proportional(14.0);
        let colour = visuals.text_color();
        let align = egui::Align2::CENTER_BOTTOM;
        ui.painter().text(below, align, &self.name, font, colour);
        response
            .on_hover_text(self.path.display().to_string())
            .clicked()
    }
}

/// The scenes in a folder, and the runs.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries = stage::neighbours(&folder.join("any.json"));
    let runs = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.extend(
        runs.map(|entry| entry.path())
            .filter(|path| KeptRun::is_one(path)),
    );
    entries
}

fn draw(
    paths: &[PathBuf],
    context: &Context,
    window: &Window,
    sender: &SyncSender<(usize, Drawn)>,
) {
    for (index, path) in paths.iter().enumerate() {
        // Nobody looks any more.
        if sender.send((index, picture(path, context))).is_err() {
            return;
        }
        window.request_redraw();
    }
}

/// The start of a scene, or the end of a run.
fn picture(path: &Path, context: &Context) -> Drawn {
    let is_run = path.is_dir();
    let file = match is_run {
        true => path.join(RunFolder::SCENE),
        false => path.to_owned(),
    };
    let model = scene::load(&file).map_err(|error| error.to_string())?.model;
    let model = Model {
        contact: ContactModel::default(),
        history: None,
        ..model
    };
    let draw = || -> Result<RgbaImage, Error> {
        let run = is_run.then(|| KeptRun::open(path, &model)).transpose()?;
        let mut simulation = Simulation::on_cpu(model, Some(1))?;
        if let Some(run) = run {
            run.show(run.moments().len() - 1, &mut simulation)?;
        }
        let shot = Shot {
            size: SIZE,
            samples: 1,
            plain: true,
            ..Shot::default()
        };
        // A scene at its start is above its floor.
        Studio::new(&shot, &mut simulation, context, !is_run)?.picture(&mut simulation)
    };
    draw().map_err(|error| error.to_string())
}
