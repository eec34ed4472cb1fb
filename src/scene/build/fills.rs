//! Fills, and the bodies that they make.

use std::fmt;

use glam::DVec3;

use super::super::error::{Problem, exact, rounded};
use super::super::format::{self, FillOrientation, Placement, Range, SceneFile, Table};
use super::check::{Check, Names, Sign, vector};
use super::clumps::Shapes;
use super::overlaps::Kept;
use super::{DEEP_OVERLAP, MAX_SPHERES};
use crate::model::bodies::{Piece, Shared, Visit};
use crate::model::clump::Clump;
use crate::model::error::gigabytes;
use crate::model::packing::fill::{self, FillError, Occupied, Together, Wanted, volume};
use crate::model::packing::overlap::{self, World};
use crate::model::packing::slab::Searchers;
use crate::model::{Bodies, Domain, ModelBody};
use crate::simulation::memory;

impl Check {
    /// The fills that are right.
    pub(super) fn fills(
        &mut self,
        file: &SceneFile,
        [names, materials, groups]: [&Names; 3],
        shapes: &mut Shapes,
        searchers: Option<&dyn Searchers>,
    ) -> Vec<fill::Fill> {
        // Each of those that search has a part of the bodies.
        let parts = searchers.map_or(1.0, |all| {
            let [here, all] = all.counts();
            here as f64 / all as f64
        });
        let is_spread = may_be_made(file, searchers.is_some());
        let counts: Vec<f64> = shapes
            .clumps
            .iter()
            .map(|clump| clump.as_ref().map_or(0, |clump| clump.spheres.len()) as f64)
            .collect();
        let spheres_of = |shape: usize| counts[shape];
        let listed = file.bodies.iter().filter_map(|body| names.get(&body.shape));
        let mut total: f64 = listed.map(spheres_of).sum();
        let mut held = total * memory::PREPARED as f64;
        let scene = format!("a scene of at most {MAX_SPHERES} spheres");
        if total > MAX_SPHERES as f64 {
            let found = format!("bodies of {} spheres", rounded(total));
            self.problem("bodies", found, &scene);
        }
        let mut fills = Vec::new();
        let memory = memory::available().unwrap_or(u64::MAX);
        for (index, fill) in file.fills.iter().enumerate() {
            let path = format!("fills[{index}]");
            let before = self.problems.len();
            let mix = self.mix(&path, &fill.shapes, names);
            let region = self.range(format_args!("{path}.region"), &fill.region, true);
            let (placement, orientation) = (
                self.placement(&path, fill),
                self.turned(&path, &fill.orientation),
            );
            let sizes = self.sizes(&path, fill.sizes.as_ref());
            let velocity = self.velocities(format_args!("{path}.velocity"), &fill.velocity);
            let angular_velocity = self.velocities(
                format_args!("{path}.angular_velocity"),
                &fill.angular_velocity,
            );
            let quantities = self.quantities(&path, fill.quantities());
            let group = self.group(&path, fill.group.as_ref(), groups);
            let weights: f64 = mix.iter().map(|(_, weight)| weight).sum();
            let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
                let parts = mix
                    .iter()
                    .map(|&(shape, weight)| of(shape) * weight / weights);
                parts.sum()
            };
            let grown: f64 = match sizes.iter().map(|(_, weight)| weight).sum::<f64>() {
                0.0 => 1.0,
                all => sizes
                    .iter()
                    .map(|(size, weight)| size.powi(3) * weight / all)
                    .sum(),
            };
            let spheres = mean(&spheres_of);
            let (field, wanted) = self.wanted(&path, fill);
            let of_shape = |of: fn(&Clump) -> f64| {
                let clumps = &shapes.clumps;
                grown * mean(&|shape| clumps[shape].as_ref().map_or(f64::INFINITY, of))
            };
            let room = region.map_or(0.0, |(min, max)| (max - min).element_product());
            // Near enough to say whether they are too many.
            let count = match wanted {
                Some(_) if self.problems.len() > before => 1.0,
                None => fill.count.unwrap_or(0) as f64,
                Some(Wanted::Mass(mass)) => (mass / of_shape(|clump| clump.mass)).max(1.0),
                Some(Wanted::SolidFraction(part)) => (part * room / of_shape(volume)).max(1.0),
                Some(Wanted::All) => (room / of_shape(volume)).max(1.0),
            };
            let spheres = count * spheres.max(1.0);
            total += spheres;
            held += spheres
                * match fill.placement {
                    Placement::Grid if is_spread => 0.0,
                    Placement::Random if is_spread => parts * memory::SEARCHED as f64,
                    Placement::Packed if is_spread => parts * memory::PACKED as f64,
                    Placement::Packed => memory::PACKED as f64,
                    _ => memory::PREPARED as f64,
                };
            let count = match fill.count {
                Some(count) => count.to_string(),
                None => rounded(count.round()),
            };
            let path_of_count = format!("{path}.{field}");
            if fill.count == Some(0) {
                self.problem(path_of_count, "0", "a number of bodies, 1 or more");
            } else if total > MAX_SPHERES as f64 {
                self.problem(
                    path_of_count,
                    format!("{count} bodies of {} spheres", rounded(spheres)),
                    &scene,
                );
            } else if total > memory::FEW as f64 && held > memory as f64 {
                self.problems.push(
                    Problem::new(
                        path_of_count,
                        format!(
                            "{count} bodies, which bring the scene to {} spheres and take {} to place",
                            rounded(total),
                            gigabytes(held as u64)
                        ),
                        format!(
                            "at most the memory that this machine has left, {}",
                            gigabytes(memory)
                        ),
                    )
                    .help("take fewer bodies, or a larger machine"),
                );
            }
            if self.problems.len() > before {
                continue;
            }
            let material = fill.material.as_ref();
            let mix = self.mix_of_material(&path, mix, material, materials, shapes);
            if self.problems.len() > before {
                continue;
            }
            if let (Some(region), Some(orientation)) = (region, orientation) {
                fills.push(fill::Fill {
                    count: fill.count.unwrap_or(0) as usize,
                    wanted,
                    shapes: mix,
                    sizes,
                    placement,
                    min: region.0,
                    max: region.1,
                    face: None,
                    orientation,
                    velocity,
                    angular_velocity,
                    group,
                    quantities,
                    seed: fill.seed,
                });
            }
        }
        fills
    }

    /// Quantity from which the number of bodies of a fill follows, if it is not given, and the field that says so.
    fn wanted(&mut self, path: &str, fill: &format::Fill) -> (&'static str, Option<Wanted>) {
        let expected = "one of \"count\", \"mass\" and \"solid_fraction\"";
        match (fill.count, fill.mass, fill.solid_fraction) {
            (Some(_), None, None) => ("count", None),
            (None, Some(mass), None) => {
                let path = format_args!("{path}.mass");
                self.number(path, mass, "a mass, kg", Sign::Positive);
                ("mass", Some(Wanted::Mass(mass)))
            }
            (None, None, Some(part)) => {
                if !(part > 0.0 && part < 1.0) {
                    self.problem(
                        format_args!("{path}.solid_fraction"),
                        exact(part),
                        "a part of the region, greater than 0 and less than 1",
                    );
                }
                ("solid_fraction", Some(Wanted::SolidFraction(part)))
            }
            (None, None, None) if fill.placement == Placement::Packed => {
                ("region", Some(Wanted::All))
            }
            (count, mass, part) => {
                let given = [count.is_some(), mass.is_some(), part.is_some()];
                self.not_one(path, &given, expected);
                ("count", None)
            }
        }
    }

    /// The shapes of a mix that are right, with their weights.
    pub(super) fn mix(
        &mut self,
        path: &str,
        shapes: &Table<f64>,
        names: &Names,
    ) -> Vec<(usize, f64)> {
        if shapes.0.is_empty() {
            self.problem(
                format_args!("{path}.shapes"),
                "no shapes",
                "at least one with its weight, such as {\"ball\": 1}",
            );
        }
        let mix = shapes.0.iter().filter_map(|(name, weight)| {
            let path = format!("{path}.shapes.{name}");
            let fits = self.number(&path, *weight, "a weight", Sign::Positive);
            let shape = self.resolve(&path, name, names)?;
            fits.then_some((shape, *weight))
        });
        mix.collect()
    }

    /// Returns the orientation of the bodies of a fill or an inlet.
    pub(super) fn turned(
        &mut self,
        path: &str,
        orientation: &FillOrientation,
    ) -> Option<fill::Orientation> {
        match orientation {
            FillOrientation::Random => Some(fill::Orientation::Random),
            FillOrientation::Fixed(quaternion) => self
                .quaternion(format_args!("{path}.orientation"), quaternion)
                .map(fill::Orientation::Fixed),
        }
    }

    fn placement(&mut self, path: &str, fill: &format::Fill) -> fill::Placement {
        let fields = [
            ("spacing", fill.spacing, Sign::Positive),
            ("jitter", fill.jitter, Sign::NotNegative),
        ];
        for (field, length, sign) in fields {
            let Some(length) = length else { continue };
            let path = format_args!("{path}.{field}");
            self.number(path, length, "a length, m", sign);
            if fill.placement != Placement::Grid {
                let expected = match fill.placement {
                    Placement::Packed => "nothing with the placement \"packed\"",
                    _ => "nothing with the placement \"random\"",
                };
                self.problems.push(
                    Problem::new(path, exact(length), expected)
                        .help("leave it out, or place on a \"grid\""),
                );
            }
        }
        match fill.placement {
            Placement::Grid => fill::Placement::Grid {
                spacing: fill.spacing,
                jitter: fill.jitter.unwrap_or(0.0),
            },
            Placement::Random => fill::Placement::Random,
            Placement::Packed => fill::Placement::Packed,
        }
    }

    pub(super) fn velocities(&mut self, path: fmt::Arguments, range: &Range) -> (DVec3, DVec3) {
        match range {
            Range::Same(velocity) => {
                self.vector(path, velocity, "a velocity");
                (vector(velocity), vector(velocity))
            }
            Range::Between(region) => self.range(path, region, false).unwrap_or_default(),
        }
    }

    /// Lower and upper bound; with a width along each axis, if `wide`.
    pub(super) fn range(
        &mut self,
        path: fmt::Arguments,
        region: &format::Region,
        wide: bool,
    ) -> Option<(DVec3, DVec3)> {
        let mut fits = self.vector(format_args!("{path}.min"), &region.min, "a number");
        fits &= self.vector(format_args!("{path}.max"), &region.max, "a number");
        for axis in 0..3 {
            let (min, max) = (region.min.0[axis], region.max.0[axis]);
            if min > max || (wide && min == max) {
                fits = false;
                let than = if wide { "greater than" } else { "of at least" };
                self.problem(
                    format_args!("{path}.max[{axis}]"),
                    exact(max),
                    format!("a number {than} min[{axis}], which is {}", exact(min)),
                );
            }
        }
        fits.then(|| (vector(&region.min), vector(&region.max)))
    }

    /// Adds the bodies of the fills, and sets the number of those of which as many were wanted as fit. All bodies are then as far apart as
    /// the scene wants it; those that are `kept` need not be.
    pub(super) fn place(
        &mut self,
        file: &SceneFile,
        kept: Kept,
        bodies: Vec<ModelBody>,
        fills: &mut [fill::Fill],
        world: World,
        searchers: Option<&dyn Searchers>,
    ) -> Result<Bodies, Vec<Problem>> {
        let Kept { started, harmless } = kept;
        let is_shared = matches!(started.bodies, Piece::Shared(_));
        if is_shared || are_made(file, fills, world, searchers.is_some()) {
            let before = started.bodies.clone();
            let placed = self.place_some(before, bodies.clone(), fills, world, true, searchers)?;
            let listed = placed.pieces.iter().filter_map(|piece| match piece {
                Piece::List(list) => Some(&list[..]),
                Piece::Fill(_) | Piece::Shared(_) => None,
            });
            let listed = listed.collect::<Vec<_>>().concat();
            // Bodies of a fill keep away from all that were there before, but not from images of these.
            let meets_images = needs_images(file) || spans(fills, world);
            let meets_started = !listed.is_empty() || harmless.walls.contains(&false);
            let all = Bodies::made(placed.pieces);
            let is_deep = match searchers {
                Some(searchers) if meets_images || is_shared && meets_started => {
                    searchers.overlap(&all, world, DEEP_OVERLAP, harmless)
                }
                _ => {
                    let mut deep = overlap::overlaps(&listed, world, DEEP_OVERLAP).into_iter();
                    deep.any(|overlap| !harmless.has(&overlap))
                }
            };
            if !is_deep {
                self.notes.extend(placed.notes);
                return Ok(all);
            }
            started.gather();
        }
        let before = std::mem::replace(&mut started.bodies, Piece::List(Vec::new()));
        let placed = self.place_some(before, bodies, fills, world, false, None)?;
        self.notes.extend(placed.notes);
        let bodies = placed.pieces.into_iter().flat_map(|piece| match piece {
            Piece::List(list) => list,
            Piece::Fill(_) | Piece::Shared(_) => unreachable!("all bodies are listed"),
        });
        let bodies = self.initial_overlap(file, bodies.collect(), fills, world, harmless)?;
        Ok(bodies.into())
    }

    /// Adds the bodies of the fills; those that can be [made](is_made) stay numbers, if `made`, and `searchers` find the places of those
    /// at random among them.
    fn place_some(
        &self,
        before: Piece,
        bodies: Vec<ModelBody>,
        fills: &mut [fill::Fill],
        world: World,
        made: bool,
        searchers: Option<&dyn Searchers>,
    ) -> Result<PlacedFills, Vec<Problem>> {
        let shapes = world.shapes;
        let mut occupied = Occupied::new(shapes);
        let mut placed = PlacedFills::default();
        let mut list = Vec::new();
        match before {
            Piece::List(before) => list = before,
            shared => {
                if !fills.is_empty() {
                    shared.visit(&mut |body| {
                        if fills.iter().any(|fill| fill.may_meet(body, shapes)) {
                            occupied.insert(body, shapes);
                        }
                    });
                }
                placed.pieces.push(shared);
            }
        }
        list.extend(bodies);
        if !fills.is_empty() {
            list.iter().for_each(|body| occupied.insert(body, shapes));
        }
        for index in 0..fills.len() {
            let fill = &fills[index];
            let mut counted = Counted::new(shapes, fill.wanted.is_some());
            let unplaced = |error| vec![unplaced(index, &error)];
            if let (true, Some(searchers), fill::Placement::Packed) =
                (made, searchers, fill.placement)
            {
                let own = placed
                    .pack(fill, &list, world, searchers)
                    .map_err(unplaced)?;
                let later = &fills[index + 1..];
                if fill.wanted.is_some() || !later.is_empty() {
                    own.holder.visit(&mut |body| {
                        counted.add(body);
                        if later.iter().any(|later| later.may_meet(body, shapes)) {
                            occupied.insert(body, shapes);
                        }
                    });
                }
                placed.pieces.push(Piece::List(std::mem::take(&mut list)));
                placed.pieces.push(Piece::Shared(own));
            } else if made && is_made(fill) {
                let own = placed
                    .next(fill, &fills[index + 1..], world, &mut occupied, searchers)
                    .map_err(unplaced)?;
                if fill.wanted.is_some() {
                    own.visit(&mut |body| counted.add(body));
                }
                placed.pieces.push(Piece::List(std::mem::take(&mut list)));
                placed.pieces.push(own);
            } else {
                let own = match fill.placement {
                    fill::Placement::Packed => fill.pack(&list, world).inspect(|own| {
                        own.iter().for_each(|body| occupied.insert(body, shapes));
                    }),
                    _ => fill.place(shapes, &mut occupied, world.walls),
                };
                let own = own.map_err(unplaced)?;
                own.iter().for_each(|body| counted.add(body));
                list.extend(own);
            }
            if let Some(wanted) = fill.wanted {
                let of_room = match wanted {
                    Wanted::Mass(_) => String::new(),
                    _ => format!(
                        ", {} % of the room in the region",
                        rounded(100.0 * counted.solid / fill.room(world.walls))
                    ),
                };
                placed.notes.push(format!(
                    "fills[{index}]: {} bodies of {} kg together{of_room}",
                    counted.count,
                    rounded(counted.mass)
                ));
                fills[index].count = counted.count;
            }
        }
        placed.pieces.push(Piece::List(list));
        Ok(placed)
    }
}

/// Bodies of a scene, fills among them, and what is to be said of these.
#[derive(Default)]
struct PlacedFills {
    pieces: Vec<Piece>,
    notes: Vec<String>,
}

impl PlacedFills {
    /// Places a fill whose bodies are made when they are wanted, of a scene that has others `later`.
    fn next(
        &self,
        fill: &fill::Fill,
        later: &[fill::Fill],
        world: World,
        occupied: &mut Occupied,
        searchers: Option<&dyn Searchers>,
    ) -> Result<Piece, FillError> {
        let (shapes, walls) = (world.shapes, world.walls);
        let is_random = |fill: &fill::Fill| fill.placement == fill::Placement::Random;
        let Some(searchers) = searchers.filter(|_| is_random(fill)) else {
            let apart = fill.is_apart(shapes);
            let may_meet =
                |body: &ModelBody| later.iter().any(|later| later.may_meet(body, shapes));
            let matters = |body: &ModelBody| !apart || may_meet(body);
            return Ok(Piece::Fill(
                fill.place_made(shapes, occupied, walls, &matters)?,
            ));
        };
        let together = Together {
            searchers,
            before: self.random_fills().collect(),
        };
        let placed = Piece::Shared(fill.place_together(shapes, occupied, walls, &together)?);
        // Searchers are not asked about places on a grid.
        let others = later.iter().filter(|later| !is_random(later));
        if others.clone().next().is_some() {
            placed.visit(&mut |body| {
                if others.clone().any(|later| later.may_meet(body, shapes)) {
                    occupied.insert(body, shapes);
                }
            });
        }
        Ok(placed)
    }

    /// Packs a fill with other processes, between the bodies that were placed before and those of a `list` after them.
    fn pack(
        &self,
        fill: &fill::Fill,
        list: &[ModelBody],
        world: World,
        searchers: &dyn Searchers,
    ) -> Result<Shared, FillError> {
        let others: Visit = &|act| {
            self.pieces.iter().for_each(|piece| piece.visit(act));
            list.iter().for_each(act);
        };
        fill.pack_together(others, world, searchers)
    }

    /// Fills at random that a cluster has placed.
    fn random_fills(&self) -> impl Iterator<Item = &Shared> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Shared(shared) if matches!(shared.holder.own().bodies, Piece::Fill(_)) => {
                Some(shared)
            }
            _ => None,
        })
    }
}

/// Bodies of a fill, counted and added up.
struct Counted<'a> {
    shapes: &'a [Clump],
    /// Volume of a body of each shape, m³; not a number where it is not known yet.
    volumes: Vec<f64>,
    count: usize,
    solid: f64,
    mass: f64,
}

impl Counted<'_> {
    fn new(shapes: &[Clump], adds: bool) -> Counted<'_> {
        Counted {
            shapes,
            volumes: vec![f64::NAN; if adds { shapes.len() } else { 0 }],
            count: 0,
            solid: 0.0,
            mass: 0.0,
        }
    }

    fn add(&mut self, body: &ModelBody) {
        self.count += 1;
        if let Some(own) = self.volumes.get_mut(body.shape) {
            if own.is_nan() {
                *own = volume(&self.shapes[body.shape]);
            }
            self.solid += *own;
            self.mass += self.shapes[body.shape].mass;
        }
    }
}

/// Bodies of fills on a grid or at random from which on they are not kept, but made whenever they are wanted; and those of another run
/// from which on the processes of a cluster share them.
pub(super) const MANY: usize = 100_000;

/// Whether the bodies of a fill can be made one after the other.
fn is_made(fill: &fill::Fill) -> bool {
    match fill.placement {
        fill::Placement::Grid { .. } | fill::Placement::Random => true,
        fill::Placement::Packed => false,
    }
}

/// Whether nobody has to know all bodies of a scene at once, so those of fills may be made when they are wanted, or be elsewhere if a
/// cluster `packs` them.
fn may_be_made(file: &SceneFile, packs: bool) -> bool {
    let packed = |fill: &format::Fill| fill.placement == Placement::Packed;
    packs || !file.fills.iter().any(packed) && file.bonds.is_empty() && !needs_images(file)
}

/// Whether bodies may overlap images of others in a periodic box. Only those that are packed look at images; whether others overlap is found
/// out afterwards.
fn needs_images(file: &SceneFile) -> bool {
    let packed = |fill: &format::Fill| fill.placement == Placement::Packed;
    let alone = file.bodies.is_empty()
        && match file.start {
            None => file.fills.len() == 1,
            Some(_) => file.fills.is_empty(),
        };
    file.domain.is_some() && !alone && !file.fills.iter().all(packed)
}

/// Whether a fill is wider than the periodic box, so its bodies may overlap images of others.
fn spans(fills: &[fill::Fill], world: World) -> bool {
    let period = world.domain.map(Domain::period).unwrap_or_default();
    fills.iter().any(|fill| {
        let wider = (fill.max - fill.min).cmpgt(period);
        (period.cmpgt(DVec3::ZERO) & wider).any()
    })
}

/// Whether the bodies of fills are made when they are wanted, or are elsewhere if a cluster `packs` them: there are many of them, and it is
/// known whether they overlap images of others.
fn are_made(file: &SceneFile, fills: &[fill::Fill], world: World, packs: bool) -> bool {
    let made = fills.iter().filter(|fill| packs || is_made(fill));
    let count: usize = made.map(|fill| fill.count).sum();
    count >= MANY && may_be_made(file, packs) && (packs || !spans(fills, world))
}

fn unplaced(index: usize, error: &FillError) -> Problem {
    let path = format!("fills[{index}]");
    match error {
        FillError::RegionTooSmall {
            shape,
            axis,
            room,
            needed,
        } => Problem::new(
            format_args!("{path}.region"),
            format!("{} m along {axis}", rounded(*room)),
            format!("{} m or more, to hold a whole {shape:?}", rounded(*needed)),
        )
        .help("widen the region or take a smaller shape"),
        FillError::SpacingTooSmall { spacing, least } => Problem::new(
            format_args!("{path}.spacing"),
            exact(*spacing),
            format!(
                "{} m or more, the diameter of the smallest sphere of the mix",
                rounded(*least)
            ),
        )
        .help("take a larger spacing, or leave it out"),
        FillError::GridFull {
            placed,
            count,
            sites: [x, y, z],
            blocked,
            pitch,
        } => Problem::new(
            format_args!("{path}.region"),
            format!(
                "a grid of {x} x {y} x {z} places, {} m apart, of which {blocked} were taken by other \
                 bodies or walls",
                rounded(*pitch)
            ),
            format!("room for {count} bodies; there was room for {placed}"),
        )
        .help("enlarge the region, or reduce \"count\" or \"spacing\""),
        FillError::Jammed {
            count,
            solid_fraction,
            remaining,
            worst,
        } => Problem::new(
            format_args!("{path}.region"),
            format!(
                "{count} bodies, which fill {} % of the room in it; eased apart, they still overlap in {remaining} places, by up to \
                 {} % of the smaller radius",
                rounded(100.0 * solid_fraction),
                rounded(100.0 * worst)
            ),
            "room for all of them: spheres packed at random take at most about 62 %, long bodies less",
        )
        .help("enlarge the region, or take fewer bodies; without a number, the fill places as many as fit"),
        FillError::Walled {
            placed,
            count,
            blocked,
        } => Problem::new(
            format_args!("{path}.region"),
            format!(
                "a region that is nearly all inside or behind walls: {blocked} places were, and {placed} of \
                 {count} bodies got one"
            ),
            "a region about as large as the room for bodies",
        )
        .help("narrow the region to where bodies can be"),
        FillError::Crowded {
            placed,
            count,
            shape,
            tries,
            region_volume,
            sphere_volume,
        } => Problem::new(
            format_args!("{path}.region"),
            format!(
                "no place for a {shape:?} in {tries} tries after {placed} bodies; the spheres of all \
                 would fill {} % of the region",
                rounded(100.0 * sphere_volume / region_volume)
            ),
            format!("room for {count} bodies"),
        )
        .help("enlarge the region, reduce \"count\", or place on a \"grid\""),
        FillError::NoMix | FillError::EmptyRegion { .. } => {
            Problem::new(path, error.to_string(), "bodies and room for them")
        }
    }
}
