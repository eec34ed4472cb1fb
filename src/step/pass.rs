//! The passes of a step, in their order.

/// A pass. Its name is that of its shader (`shaders/<name>.wgsl`), of its twin on the CPU
/// (`src/step/cpu/<name>.rs`), of its timer and of its parity test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pass {
    /// Position and velocity of each sphere, from its body.
    Pose,
    /// Hash bucket of each sphere, and the number of spheres in each bucket.
    Bin,
    /// Exclusive prefix sum of those numbers: where each bucket starts.
    Scan,
    /// Counting sort of the spheres into buckets, by index inside each bucket.
    Scatter,
    /// Neighbour list of each sphere: all that it may touch until the lists are built again.
    Neighbours,
    /// Contacts of each sphere with others: force, torque, overlap, number.
    Contacts,
    /// Contacts of each sphere with walls, and the loads on these.
    Walls,
    /// Forces on each body besides contacts and gravity: drag, water, springs, applied forces.
    Forces,
    /// Forces of bonds on each body, and which of them break and heal.
    Bonds,
    /// Heat that flows through contacts, and the temperature of each body.
    Heat,
    /// Sums the spheres of each body and moves it by one time step; and moves walls.
    Integrate,
}

impl Pass {
    /// The passes in the order in which a step runs them.
    pub const ALL: [Pass; 11] = [
        Pass::Pose,
        Pass::Bin,
        Pass::Scan,
        Pass::Scatter,
        Pass::Neighbours,
        Pass::Contacts,
        Pass::Walls,
        Pass::Forces,
        Pass::Bonds,
        Pass::Heat,
        Pass::Integrate,
    ];

    /// Whether the pass serves to build the neighbour lists: it runs only in steps that need it.
    pub fn builds_lists(self) -> bool {
        matches!(
            self,
            Pass::Bin | Pass::Scan | Pass::Scatter | Pass::Neighbours
        )
    }

    /// Name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Pose => "pose",
            Pass::Bin => "bin",
            Pass::Scan => "scan",
            Pass::Scatter => "scatter",
            Pass::Neighbours => "neighbours",
            Pass::Contacts => "contacts",
            Pass::Walls => "walls",
            Pass::Forces => "forces",
            Pass::Bonds => "bonds",
            Pass::Heat => "heat",
            Pass::Integrate => "integrate",
        }
    }
}
