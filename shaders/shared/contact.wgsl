// Contact laws; the twin of src/step/contact.rs, where they are explained. The pipeline chooses the law,
// so that the compiler leaves out what others need.

override LAW: u32 = HOOKE_VISCOUS;

// Whether all is of one material: then what two materials have in common needs no look at the spheres.
override ONE_MATERIAL: bool = false;

// Two surfaces that are close to each other during a step, seen from one of them.
struct Contact {
    // m, in the middle of the step; negative while the surfaces are apart.
    overlap: f32,
    // When they touch.
    touch: Touch,
    // Unit vector from this surface to the other.
    normal: vec3<f32>,
    // Velocity of the other surface at the contact relative to this one, m/s.
    relative_velocity: vec3<f32>,
    // Angular velocity of the other body relative to this one, rad/s.
    relative_spin: vec3<f32>,
    // Angular speed about the normal of the two together, rad/s: that of the wall on a wall.
    common_twist: f32,
    // Effective radius, m: R1 R2/(R1 + R2) of two spheres, R on a wall.
    radius: f32,
    // 1/m_a + 1/m_b of the bodies, 1/kg; with the normal model `impulse` of their shares.
    inverse_mass: f32,
    // Of this sphere and of the other, m; 0 for a wall.
    radii: vec2<f32>,
    // Of this body and of the other, 1/kg; 0 for a fixed body and a wall that no load moves.
    inverse_masses: vec2<f32>,
    // Indices of the materials of this surface and of the other.
    materials: vec2<u32>,
    // s.
    time_step: f32,
}

// How two surfaces touch during a step.
struct Touch {
    // The part of the step in which they overlap, 0 to 1.
    presence: f32,
    // m, averaged over the step: what is reported.
    mean_overlap: f32,
}

// What a contact does to one of its sides.
struct Response {
    // Force on this surface, N.
    force: vec3<f32>,
    // Torque on this body besides that of the force, N m.
    torque: vec3<f32>,
    // Contact history after the step; src/state/history.rs says what it is.
    history: History,
    // Energy that dashpots dissipated in this step, J: of the contact, not of a side.
    damping: f32,
    // Energy that friction dissipated in this step, J.
    friction: f32,
}

// From the signed overlap in the middle of the step and the speed with which they approach or part.
fn touch_of(overlap: f32, speed: f32, time_step: f32) -> Touch {
    let way = abs(speed) * time_step;
    if way > 2.0 * abs(overlap) {
        let presence = 0.5 + overlap / way;
        return Touch(presence, 0.5 * presence * presence * way);
    }
    if overlap > 0.0 {
        return Touch(1.0, overlap);
    }
    return Touch(0.0, 0.0);
}

// sqrt(5/6): damping of Hertz's spring over that of a linear one of the same slope.
const TSUJI: f32 = 0.9128709;

// Force (N) and slope (N/m) of the normal spring.
struct Spring {
    force: f32,
    tangent: f32,
}

fn spring(overlap: f32, radius: f32, pair: Pair) -> Spring {
    if LAW == HERTZ_MINDLIN {
        let width = sqrt(radius * overlap);
        return Spring(pair.stiffness * width * overlap, 1.5 * pair.stiffness * width);
    }
    return Spring(pair.stiffness * overlap, pair.stiffness);
}

// The same by the law of the scene.
fn spring_of(overlap: f32, contact: Contact, pair: Pair) -> Spring {
    if LAW == IMPULSE {
        let stiffness = 1.0 / (contact.inverse_mass * contact.time_step * contact.time_step);
        return Spring(stiffness * overlap, stiffness);
    }
    return spring(overlap, contact.radius, pair);
}

// Spring and dashpot along the normal.
struct NormalForce {
    // N.
    spring: f32,
    // N/m.
    tangent: f32,
    // In the step before, N/m.
    tangent_before: f32,
    // N s/m.
    impedance: f32,
    // N s/m.
    dashpot: f32,
    // m/s.
    approach: f32,
    // N.
    total: f32,
}

fn normal_force_of(contact: Contact, pair: Pair) -> NormalForce {
    let approach = -dot(contact.relative_velocity, contact.normal);
    let presence = contact.touch.presence;
    let spring = spring(max(contact.overlap, 0.0), contact.radius, pair);
    let impedance = presence * sqrt(spring.tangent / contact.inverse_mass);
    let shape = select(1.0, TSUJI, LAW == HERTZ_MINDLIN);
    let nominal = presence * pair.damping + 2.0 * shape * pair.damping_ratio * impedance;
    let dashpot = nominal / (1.0 + 0.25 * nominal * contact.time_step * contact.inverse_mass);
    let total = spring.force + dashpot * approach;
    var tangent_before = spring.tangent;
    if LAW == HERTZ_MINDLIN {
        let overlap = max(contact.overlap - approach * contact.time_step, 0.0);
        tangent_before = 1.5 * pair.stiffness * sqrt(contact.radius * overlap);
    }
    return NormalForce(spring.force, spring.tangent, tangent_before, impedance, dashpot, approach, total);
}

// Speeds of approach that are no impact but come of gravity, as a multiple of what it adds in a step.
const STILL: f32 = 4.0;

// The same of the normal model `impulse`: what ends the approach in this step, and the overlap.
fn impulse_of(contact: Contact, pair: Pair, params: Params) -> NormalForce {
    let approach = -dot(contact.relative_velocity, contact.normal);
    let spring = spring_of(max(contact.overlap, 0.0), contact, pair);
    let dashpot = spring.tangent * contact.time_step;
    let gap = max(-contact.overlap, 0.0);
    let slowed = spring.force + dashpot * approach - spring.tangent * gap;
    let bounced = (1.0 + pair.restitution) * dashpot * approach;
    let still = STILL * length(params.gravity) * contact.time_step;
    let total = select(slowed, max(slowed, bounced), approach > still);
    let meets = contact.overlap + approach * contact.time_step > 0.0;
    return NormalForce(
        spring.force,
        spring.tangent,
        spring.tangent,
        dashpot,
        dashpot,
        approach,
        select(0.0, max(total, 0.0), meets || contact.overlap > 0.0),
    );
}

// Energy that the dashpot takes in a step, J.
fn damping_of(normal_force: NormalForce, contact: Contact) -> f32 {
    let change = normal_force.total * contact.inverse_mass * contact.time_step;
    return (normal_force.total - normal_force.spring) * (normal_force.approach - 0.5 * change) * contact.time_step;
}

// The law `hooke` with `viscous`: spring, dashpot, and viscous shear capped by Coulomb friction.
fn hooke_viscous(contact: Contact, pair: Pair) -> Response {
    var response: Response;
    if contact.touch.presence == 0.0 {
        return response;
    }
    let normal_force = normal_force_of(contact, pair);
    let tangential_velocity = contact.relative_velocity + normal_force.approach * contact.normal;
    var shear = pair.tangential_ratio * normal_force.impedance * tangential_velocity;
    let cap = pair.friction * max(normal_force.total, 0.0);
    let magnitude = length(shear);
    let slides = magnitude > cap;
    if slides {
        shear *= cap / magnitude;
    }
    let lost = dot(shear, tangential_velocity) * contact.time_step;
    response.force = shear - normal_force.total * contact.normal;
    response.damping = damping_of(normal_force, contact) + select(lost, 0.0, slides);
    response.friction = select(0.0, lost, slides);
    return response;
}

// The laws with a contact history: a tangential spring, resistance to rolling and twisting,
// cohesion.
fn with_history(given: Contact, pair: Pair, history: History, params: Params) -> Response {
    let normal = given.normal;
    let radius = given.radius;
    var contact = given;
    var normal_force: NormalForce;
    if LAW == IMPULSE {
        normal_force = impulse_of(contact, pair, params);
    } else {
        normal_force = normal_force_of(contact, pair);
    }
    if params.limit_damping != 0u {
        normal_force.total = max(normal_force.total, 0.0);
    }
    let cohesion = cohesion(contact, pair, history.bonded > 0.0);
    var response: Response;
    response.force = (cohesion.pull - normal_force.total) * normal;
    response.damping = damping_of(normal_force, contact);
    response.history.bonded = select(0.0, 1.0, cohesion.sticks);
    if LAW == IMPULSE {
        // An impulse lasts a step or does not act in it.
        contact.touch.presence = select(0.0, 1.0, normal_force.total > 0.0);
    }

    let compression = max(normal_force.total, 0.0);
    let stiffness = pair.tangential_ratio * normal_force.tangent;
    let stiffness_before = pair.tangential_ratio * normal_force.tangent_before;
    if contact.touch.presence == 0.0 {
        // What the springs still held is lost.
        let held = dot(history.tangential_displacement, history.tangential_displacement)
            + history.twisting_displacement * history.twisting_displacement
            + dot(history.rolling_displacement, history.rolling_displacement);
        response.friction = 0.5 * stiffness_before * held;
        return response;
    }
    let change = Change(stiffness_before, rescaling(normal_force, params));
    let dashpot = params.tangential_damping * normal_force.dashpot;
    let angle = contact.common_twist * contact.time_step;

    let tangential_velocity = contact.relative_velocity + normal_force.approach * normal;
    let shear = slide_changed(
        Slider(stiffness, dashpot, pair.friction * compression), change,
        carried(history.tangential_displacement, normal, angle), tangential_velocity, contact);
    response.force += shear.force;
    response.damping += shear.damping;
    response.friction += shear.friction;
    response.history.tangential_displacement = shear.elongation;
    // What the history has no room for, no pair of materials does.
    if HISTORY_VALUES > 3u && pair.twisting_friction > 0.0 {
        let twist = radius * dot(contact.relative_spin, normal);
        let torsion = slide_changed(
            Slider(stiffness, dashpot, pair.twisting_friction * compression), change,
            history.twisting_displacement * normal, twist * normal, contact);
        response.torque += radius * torsion.force;
        response.damping += torsion.damping;
        response.friction += torsion.friction;
        response.history.twisting_displacement = dot(torsion.elongation, normal);
    }

    if pair.rolling_friction > 0.0 {
        let spin = contact.relative_spin - dot(contact.relative_spin, normal) * normal;
        if HISTORY_VALUES > 4u && pair.rolling == ROLLING_SPRING {
            let rolling = slide_changed(
                Slider(stiffness, dashpot, pair.rolling_friction * compression), change,
                carried(history.rolling_displacement, normal, angle), radius * spin, contact);
            response.torque += radius * rolling.force;
            response.damping += rolling.damping;
            response.friction += rolling.friction;
            response.history.rolling_displacement = rolling.elongation;
        } else {
            let torque = constant_torque(contact, spin, pair.rolling_friction * compression);
            response.torque += torque;
            response.friction += dot(torque, spin) * contact.time_step;
        }
    }
    return response;
}

// Factor of the elongations before a step.
fn rescaling(normal_force: NormalForce, params: Params) -> f32 {
    if LAW == HERTZ_MINDLIN && params.rescales != 0u && normal_force.tangent > normal_force.tangent_before {
        return normal_force.tangent_before / normal_force.tangent;
    }
    return 1.0;
}

// The elongation of a spring that lies in the plane of the contact, carried along as that plane turns,
// and turned by `angle` about the normal.
fn carried(elongation: vec3<f32>, normal: vec3<f32>, angle: f32) -> vec3<f32> {
    let out = dot(elongation, normal);
    let within = elongation - out * normal;
    let square = dot(within, within);
    if square == 0.0 {
        return vec3<f32>();
    }
    let longer = 1.0 + 0.5 * min(out * out / square, 1.0);
    return longer * within + angle * cross(normal, within);
}

// A spring and dashpot with a limit to their force, beyond which they slide.
struct Slider {
    // N/m.
    stiffness: f32,
    // N s/m.
    dashpot: f32,
    // N.
    cap: f32,
}

// What became of it in a step.
struct Slid {
    // N.
    force: vec3<f32>,
    // m.
    elongation: vec3<f32>,
    // J.
    damping: f32,
    // J.
    friction: f32,
}

// A step in which the ends of the spring part with `velocity`.
fn slide(slider: Slider, start: vec3<f32>, velocity: vec3<f32>, contact: Contact) -> Slid {
    return slide_changed(slider, Change(slider.stiffness, 1.0), start, velocity, contact);
}

// How a spring changes from one step to the next, as its contact is pressed or released.
struct Change {
    // Its stiffness in the step before, N/m.
    stiffness: f32,
    // Factor of its elongation before the step.
    scale: f32,
}

// A step of a spring whose stiffness changes. Custom laws call `slide`, whose arguments stay as they are.
fn slide_changed(slider: Slider, change: Change, start: vec3<f32>, velocity: vec3<f32>, contact: Contact) -> Slid {
    let held = change.stiffness * dot(start, start);
    var elongation = change.scale * start + contact.touch.presence * contact.time_step * velocity;
    var force = slider.stiffness * elongation + slider.dashpot * velocity;
    let magnitude = length(force);
    let slides = magnitude > slider.cap;
    if slides {
        force *= slider.cap / magnitude;
        let tension = slider.stiffness * length(elongation);
        if tension > slider.cap {
            elongation *= slider.cap / tension;
        }
    }
    let stored = 0.5 * (slider.stiffness * dot(elongation, elongation) - held);
    let lost = dot(force, velocity) * contact.time_step - stored;
    return Slid(force, elongation, select(lost, 0.0, slides), select(0.0, lost, slides));
}

// The part of the relative spin that constant rolling friction may take away in one step.
const GENTLE: f32 = 0.1;

// Rolling friction of the size `force` times the effective radius, against the relative spin.
fn constant_torque(contact: Contact, spin: vec3<f32>, force: f32) -> vec3<f32> {
    let speed = length(spin);
    if speed == 0.0 {
        return vec3<f32>();
    }
    let inertia = 0.4 * contact.radius * contact.radius / contact.inverse_mass;
    let most = GENTLE * inertia * speed / contact.time_step;
    return min(force * contact.radius, most) / speed * spin;
}

// Attraction (N) and whether the surfaces stick to each other.
struct Cohesion {
    pull: f32,
    sticks: bool,
}

// Of surfaces that stick to each other already, or do not yet.
fn cohesion(contact: Contact, pair: Pair, sticks: bool) -> Cohesion {
    var pull = 0.0;
    if pair.cohesion_force > 0.0 {
        let speed = dot(contact.relative_velocity, contact.normal);
        let within = touch_of(contact.overlap + pair.cohesion_range, speed, contact.time_step);
        pull += pair.cohesion_force * within.presence;
    }
    if HISTORY_VALUES > 7u && pair.surface_energy > 0.0 && (sticks || contact.touch.presence > 0.0) {
        let pull_off = 1.5 * PI * pair.surface_energy * contact.radius;
        let neck = spring_of(max(-contact.overlap, 0.0), contact, pair).force;
        return Cohesion(pull + max(pull_off - neck, 0.0), neck < pull_off);
    }
    return Cohesion(pull, false);
}
