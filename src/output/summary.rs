use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::Rounded;
use crate::model::error::Result;
use crate::model::flow::{Amount, Passed};
use crate::simulation::Seen;
use crate::simulation::Simulation;
use crate::simulation::network::Histogram;
use crate::simulation::summary::Energy;
use crate::step::ClusterCost;

/// Intervals of the histograms.
const BINS: usize = 20;

/// Summary of a run. Serialized, it is the JSON object of `rockfall run --json`; displayed, it
/// is text for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunSummary {
    /// Name of the scene.
    pub scene: String,
    /// `"cpu"` or `"gpu"`.
    pub backend: &'static str,
    /// The adapter, or the CPU with its number of threads.
    pub adapter: String,
    /// Number of bodies.
    pub bodies: usize,
    /// Number of spheres of all bodies.
    pub spheres: usize,
    /// Number of steps taken.
    pub steps: u64,
    /// Time step, s.
    pub dt: f64,
    /// Simulated time, s.
    pub simulated_s: f64,
    /// Time that the steps took, s.
    pub wall_s: f64,
    /// Spheres times steps by wall time, 1/s; 0 if no step was taken.
    pub sphere_steps_per_s: f64,
    /// Kinetic energy at the end, of translation and rotation, J.
    pub kinetic_energy_j: f64,
    /// Largest overlap in the whole run, as a fraction of the smaller radius.
    pub max_overlap_fraction: f64,
    /// Contacts in the last step.
    pub contacts: u64,
    /// Mean number of contacts of a body that is not fixed, in the last step.
    pub coordination: f64,
    /// Bodies that sleep at the end.
    pub asleep: u64,
    /// Energies at the end.
    pub energy: EnergyBudget,
    /// The bonds, if the scene has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bonds: Option<BondReport>,
    /// Overlaps in the last step, as fractions of the smaller radius.
    pub overlaps: Histogram,
    /// Sizes of the contact forces in the last step, N.
    pub forces: Histogram,
    /// Loads on the walls in the last step, in the order of the scene: its planes first.
    pub walls: Vec<WallReport>,
    /// Momentum at the end, kg m/s.
    pub momentum: [f64; 3],
    /// Angular momentum about the origin at the end, kg m²/s.
    pub angular_momentum: [f64; 3],
    /// The stages that have begun.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageReport>,
    /// Report of each inlet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inlets: Vec<InletReport>,
    /// Report of each outlet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outlets: Vec<OutletReport>,
    /// Report of each probe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeReport>,
    /// Cost of the ranks of a cluster; none on one machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterCost>,
    /// Hash of the state of all bodies at the end, bit for bit: 16 hexadecimal digits.
    pub state_hash: String,
}

/// Bonds of a scene, whole and broken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BondReport {
    /// Number of bonds, broken ones among them.
    pub count: usize,
    /// Number of broken bonds.
    pub broken: usize,
    /// Taken by their dashpots, and held by those that broke, since the start, J.
    pub taken_j: f64,
}

/// A stage that has begun.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// Start, s.
    pub start_s: f64,
}

/// Report of an inlet: amounts that it has brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InletReport {
    /// Its name.
    pub name: String,
    /// Amount that it has brought.
    #[serde(flatten)]
    pub amount: Amount,
    /// Bodies that are due, but had no room at the last look.
    pub waiting: u64,
}

/// Report of an outlet: amounts that it has taken away.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutletReport {
    /// Its name.
    pub name: String,
    /// Amount that it has taken away.
    #[serde(flatten)]
    pub amount: Amount,
    /// Residence times of these bodies, if the scene asks for them and any came through an inlet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residence: Option<ResidenceReport>,
}

/// Residence times of bodies from an inlet to an outlet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResidenceReport {
    /// Number of them.
    pub bodies: u64,
    /// Mean, s.
    pub mean_s: f64,
    /// Standard deviation, s.
    pub deviation_s: f64,
}

/// Report of a probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeReport {
    /// Its name.
    pub name: String,
    /// Reading of the probe.
    #[serde(flatten)]
    pub reading: Reading,
}

/// Reading of a probe, by its kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reading {
    /// Contents of a volume.
    Holds(Seen),
    /// Amounts that have passed a face.
    Passed(Passed),
}

/// The reports of a simulation's inlets, outlets and probes.
pub(crate) fn flow_reports(
    simulation: &mut Simulation,
) -> Result<(Vec<InletReport>, Vec<OutletReport>, Vec<ProbeReport>)> {
    let seen = simulation.probe()?;
    let (flow, traffic) = (&simulation.model().flow, simulation.traffic());
    let brought = traffic.inlets.iter().zip(&traffic.waiting);
    let inlets = flow.inlets.iter().zip(brought);
    let outlets = flow.outlets.iter().zip(&traffic.outlets);
    let probes = flow.probes.iter().zip(seen.iter().zip(&traffic.passed));
    Ok((
        inlets
            .map(|(inlet, (amount, waiting))| InletReport {
                name: inlet.name.clone(),
                amount: *amount,
                waiting: *waiting,
            })
            .collect(),
        outlets
            .enumerate()
            .map(|(index, (outlet, amount))| OutletReport {
                name: outlet.name.clone(),
                amount: *amount,
                residence: traffic
                    .residence
                    .get(index)
                    .filter(|own| own.bodies > 0)
                    .map(|own| ResidenceReport {
                        bodies: own.bodies,
                        mean_s: own.mean(),
                        deviation_s: own.deviation(),
                    }),
            })
            .collect(),
        probes
            .map(|(probe, (seen, passed))| ProbeReport {
                name: probe.name.clone(),
                reading: if probe.region.is_face() {
                    Reading::Passed(*passed)
                } else {
                    Reading::Holds(*seen)
                },
            })
            .collect(),
    ))
}

/// A wall, and what contacts do to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WallReport {
    /// Its name, or its place in the scene.
    pub name: String,
    /// Force, N.
    pub force: [f64; 3],
    /// Torque about the wall's position, N m.
    pub torque: [f64; 3],
    /// The wall's position at the end, m.
    pub position: [f64; 3],
}

/// Energies of a simulation, J.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergyBudget {
    /// Energy of translation and rotation.
    pub kinetic: f64,
    /// In the field of gravity; 0 at the origin.
    pub gravitational: f64,
    /// In the springs of contacts, in those between bodies, and in bonds.
    pub elastic: f64,
    /// The sum of these.
    pub total: f64,
    /// Dissipated by dashpots since the start.
    pub damping: f64,
    /// Dissipated by sliding, rolling and twisting friction since the start.
    pub friction: f64,
    /// Dissipated by drag, water and the dashpots of springs since the start.
    pub drag: f64,
    /// Done by walls that move, and by forces on bodies, since the start.
    pub work: f64,
}

impl From<Energy> for EnergyBudget {
    fn from(energy: Energy) -> Self {
        EnergyBudget {
            kinetic: energy.kinetic,
            gravitational: energy.gravitational,
            elastic: energy.elastic,
            total: energy.total(),
            damping: energy.damping,
            friction: energy.friction,
            drag: energy.drag,
            work: energy.work,
        }
    }
}

impl RunSummary {
    /// Sums up a simulation whose steps after the first `from` took `wall`.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn new(simulation: &mut Simulation, from: u64, wall: Duration) -> Result<RunSummary> {
        let totals = simulation.totals()?;
        let (summary, energy) = (&totals.summary, totals.energy);
        let [overlaps, forces] = simulation.histograms(BINS)?;
        let (inlets, outlets, probes) = flow_reports(simulation)?;
        let walls = simulation.walls()?.into_iter();
        let walls = walls
            .zip(&totals.wall_loads)
            .map(|(wall, load)| WallReport {
                name: wall.name,
                force: load.force.to_array(),
                torque: load.torque.to_array(),
                position: wall.moving.pose.position.to_array(),
            });
        let walls = walls.collect();
        let [count, broken] = totals.bonds;
        let model = simulation.model();
        let bonds = (!model.bonds.is_empty()).then_some(BondReport {
            count,
            broken,
            taken_j: energy.bonds,
        });
        let (bodies, spheres) = (simulation.body_count(), simulation.sphere_count());
        let steps = simulation.steps();
        let wall_s = wall.as_secs_f64();
        Ok(RunSummary {
            scene: model.name.clone(),
            backend: simulation.backend(),
            adapter: simulation.adapter(),
            bodies,
            spheres,
            steps,
            dt: model.time_step,
            simulated_s: simulation.time(),
            wall_s,
            sphere_steps_per_s: if steps == from {
                0.0
            } else {
                simulation.sphere_steps() as f64 / wall_s
            },
            kinetic_energy_j: summary.kinetic_energy,
            max_overlap_fraction: summary.max_overlap_fraction,
            contacts: summary.contacts,
            coordination: totals.coordination,
            asleep: summary.asleep,
            energy: energy.into(),
            bonds,
            overlaps,
            forces,
            walls,
            momentum: summary.momentum.to_array(),
            angular_momentum: summary.angular_momentum.to_array(),
            stages: simulation
                .stages()
                .map(|(name, start_s)| StageReport {
                    name: name.to_owned(),
                    start_s,
                })
                .collect(),
            inlets,
            outlets,
            probes,
            cluster: simulation.cluster_cost(),
            state_hash: format!("{:016x}", summary.state_hash),
        })
    }
}

impl fmt::Display for RunSummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "scene            {}", self.scene)?;
        writeln!(formatter, "bodies           {}", self.bodies)?;
        writeln!(formatter, "spheres          {}", self.spheres)?;
        writeln!(formatter, "steps            {}", self.steps)?;
        writeln!(formatter, "time step        {} s", Rounded(self.dt))?;
        writeln!(
            formatter,
            "simulated time   {} s",
            Rounded(self.simulated_s)
        )?;
        writeln!(formatter, "wall time        {} s", Rounded(self.wall_s))?;
        let (rate, unit) = match self.sphere_steps_per_s {
            rate if rate < 1e6 => (rate, "sphere-steps/s"),
            rate => (rate * 1e-6, "million sphere-steps/s"),
        };
        writeln!(formatter, "throughput       {} {unit}", Rounded(rate))?;
        writeln!(
            formatter,
            "kinetic energy   {} J",
            Rounded(self.kinetic_energy_j)
        )?;
        writeln!(
            formatter,
            "largest overlap  {} of the radius (in the whole run)",
            Rounded(self.max_overlap_fraction)
        )?;
        writeln!(
            formatter,
            "contacts         {}, {} per body",
            self.contacts,
            Rounded(self.coordination)
        )?;
        if self.asleep > 0 {
            writeln!(formatter, "asleep           {} bodies", self.asleep)?;
        }
        if let Some(BondReport { count, broken, .. }) = &self.bonds {
            writeln!(
                formatter,
                "bonds            {count}, {broken} of them broken"
            )?;
        }
        for StageReport { name, start_s } in &self.stages {
            writeln!(formatter, "{name:<16} began at {} s", Rounded(*start_s))?;
        }
        for WallReport { name, force, .. } in &self.walls {
            let [x, y, z] = force.map(Rounded);
            writeln!(formatter, "{name:<16} {x}, {y}, {z} N on it")?;
        }
        for InletReport {
            name,
            amount,
            waiting,
        } in &self.inlets
        {
            let Amount { bodies, mass } = amount;
            write!(
                formatter,
                "{name:<16} {bodies} bodies in, {} kg",
                Rounded(*mass)
            )?;
            if *waiting > 0 {
                write!(formatter, "; {waiting} more wait for room")?;
            }
            writeln!(formatter)?;
        }
        for OutletReport {
            name,
            amount,
            residence,
        } in &self.outlets
        {
            let Amount { bodies, mass } = amount;
            write!(
                formatter,
                "{name:<16} {bodies} bodies out, {} kg",
                Rounded(*mass)
            )?;
            if let Some(own) = residence {
                let (mean, deviation) = (Rounded(own.mean_s), Rounded(own.deviation_s));
                write!(
                    formatter,
                    "; residence time {mean} s, standard deviation {deviation} s"
                )?;
            }
            writeln!(formatter)?;
        }
        for ProbeReport { name, reading } in &self.probes {
            match reading {
                Reading::Holds(Seen { bodies, mass, .. }) => {
                    writeln!(
                        formatter,
                        "{name:<16} {bodies} bodies, {} kg",
                        Rounded(*mass)
                    )?;
                }
                Reading::Passed(Passed { forward, backward }) => writeln!(
                    formatter,
                    "{name:<16} {} bodies passed, {} kg; {} back, {} kg",
                    forward.bodies,
                    Rounded(forward.mass),
                    backward.bodies,
                    Rounded(backward.mass),
                )?,
            }
        }
        if let Some(cost) = &self.cluster {
            writeln!(
                formatter,
                "ranks            {}, imbalance {}, {} % of the time in communication",
                cost.ranks,
                Rounded(cost.imbalance),
                Rounded(100.0 * cost.communication)
            )?;
            writeln!(
                formatter,
                "between them     {} bytes in {} messages a step, {} ghosts a rank",
                Rounded(cost.bytes_per_step),
                Rounded(cost.messages_per_step),
                Rounded(cost.ghosts_per_rank)
            )?;
        }
        write!(formatter, "state hash       {}", self.state_hash)
    }
}
