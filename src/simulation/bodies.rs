//! Single bodies: added, removed, read and set between steps.

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::Simulation;
use super::flow::Change;
use super::snapshot::BodyState;
use crate::model::ModelBody;
use crate::model::clump::Clump;
use crate::model::error::{Error, Result};
use crate::model::handle::{
    BodyHandle, ForceHandle, GroupHandle, MaterialHandle, ShapeHandle, WallHandle,
};
use crate::model::quantity::{QUANTITIES, Quantities};
use crate::state::layout::{ASLEEP, Action, PUSH, THRUST};
use crate::state::{Field, body_orientation, world_inertia};
use crate::step::Patience;

/// A body to be added.
///
/// Position and orientation refer to the shape's own axes, as in a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewBody {
    /// Its shape.
    pub shape: ShapeHandle,
    /// Origin of the shape's own axes, m.
    pub position: DVec3,
    /// Rotation from the shape's own axes to the world.
    pub orientation: DQuat,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Angular velocity in the world frame, rad/s.
    pub angular_velocity: DVec3,
    /// Whether it is fixed: it takes part in contacts but does not move.
    pub fixed: bool,
    /// Its group.
    pub group: GroupHandle,
    /// Quantities that it carries besides its motion.
    pub quantities: Quantities,
}

impl NewBody {
    /// A body at rest, in the group of all bodies that are in no other group.
    pub fn new(shape: ShapeHandle, position: DVec3) -> NewBody {
        NewBody {
            shape,
            position,
            orientation: DQuat::IDENTITY,
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
            fixed: false,
            group: GroupHandle::default(),
            quantities: Quantities::default(),
        }
    }

    /// Sets the velocity, m/s.
    pub fn moving(self, velocity: DVec3) -> NewBody {
        NewBody { velocity, ..self }
    }

    /// Sets the orientation.
    pub fn turned(self, orientation: DQuat) -> NewBody {
        NewBody {
            orientation,
            ..self
        }
    }

    /// Puts the body into a group.
    pub fn in_group(self, group: GroupHandle) -> NewBody {
        NewBody { group, ..self }
    }

    /// Fixes the body.
    pub fn fixed(self) -> NewBody {
        NewBody {
            fixed: true,
            ..self
        }
    }
}

impl Simulation {
    /// The shape of this name.
    pub fn shape(&self, name: &str) -> Option<ShapeHandle> {
        let index = self.model.shapes.iter().position(|own| own.name == name)?;
        Some(ShapeHandle::from_index(index))
    }

    /// The material of this name.
    pub fn material(&self, name: &str) -> Option<MaterialHandle> {
        let index = self.model.materials.iter().position(|own| own == name)?;
        Some(MaterialHandle::from_index(index))
    }

    /// The wall of this name; the first, if there are several.
    pub fn wall(&self, name: &str) -> Option<WallHandle> {
        let index = self.model.walls.iter().position(|own| own.name == name)?;
        Some(WallHandle::from_index(index))
    }

    /// The group of this name; `all` is the group of the bodies that are in no other.
    pub fn group(&self, name: &str) -> Option<GroupHandle> {
        let groups = &self.model.forces.groups;
        let index = groups.iter().position(|own| own.name == name)?;
        Some(GroupHandle::from_index(index))
    }

    /// The applied force of this name.
    pub fn force(&self, name: &str) -> Option<ForceHandle> {
        let forces = &self.model.forces.applied;
        let index = forces.iter().position(|own| own.name == name)?;
        Some(ForceHandle::from_index(index))
    }

    /// The bodies now, in the order in which all lists have them.
    pub fn handles(&self) -> impl ExactSizeIterator<Item = BodyHandle> + '_ {
        let identities = self.state.identities.iter();
        identities.map(|body| BodyHandle::from_id(body.id))
    }

    /// Index of a body in that order, if it exists.
    pub fn index_of(&self, body: BodyHandle) -> Option<usize> {
        self.state.identities.find(body.id())
    }

    /// Adds a body before the next step.
    ///
    /// # Errors
    /// As [`Simulation::spawn_many`].
    pub fn spawn(&mut self, body: NewBody) -> Result<BodyHandle> {
        Ok(self.spawn_many(&[body])?[0])
    }

    /// Adds bodies before the next step; they get the next numbers in this order. Overlaps with others are not
    /// checked.
    ///
    /// # Errors
    /// If a number makes no sense; if a shape or group does not exist; if a sphere is smaller or larger than all
    /// those of the scene's bodies, its inlets, and the shapes that it names under `spawn`; or if the device has no
    /// memory for them. No body is added then.
    pub fn spawn_many(&mut self, bodies: &[NewBody]) -> Result<Vec<BodyHandle>> {
        let checked: Result<Vec<ModelBody>> = bodies.iter().map(|body| self.check(body)).collect();
        let first = self.state.traffic.next_id;
        let new: Vec<_> = (first..).zip(checked?).collect();
        let handles = new.iter().map(|(id, _)| BodyHandle::from_id(*id)).collect();
        self.state.traffic.next_id += new.len() as u64;
        self.come_and_go(Vec::new(), new)?;
        Ok(handles)
    }

    /// Removes a body before the next step.
    ///
    /// # Errors
    /// As [`Simulation::despawn_many`].
    pub fn despawn(&mut self, body: BodyHandle) -> Result<()> {
        self.despawn_many(&[body])
    }

    /// Removes bodies before the next step. The energy that their contacts dissipated stays in the balance; springs
    /// and applied forces on them go with them.
    ///
    /// # Errors
    /// If a body does not exist, or the device is lost. No body is removed then.
    pub fn despawn_many(&mut self, bodies: &[BodyHandle]) -> Result<()> {
        let place = |body: &BodyHandle| self.place_of(*body).map(|place| place as u32);
        let places: Result<Vec<u32>> = bodies.iter().map(place).collect();
        self.come_and_go(places?, Vec::new())
    }

    fn come_and_go(&mut self, mut gone: Vec<u32>, new: Vec<(u64, ModelBody)>) -> Result<()> {
        gone.sort_unstable();
        gone.dedup();
        let change = Change { gone, new };
        self.state.traffic.follow(&change);
        pollster::block_on(self.change(Patience::Block, Some(change)))
    }

    /// The body of the model that `body` asks for.
    fn check(&self, body: &NewBody) -> Result<ModelBody> {
        let refused = |sentence: String| Err(Error::Tuned(sentence));
        let NewBody {
            shape,
            position,
            orientation,
            velocity,
            angular_velocity,
            fixed,
            group,
            quantities,
        } = *body;
        let Some(clump) = self.model.shapes.get(shape.index()) else {
            return refused(format!(
                "there is no shape {}; the scene has {}, numbered from 0",
                shape.index(),
                self.model.shapes.len()
            ));
        };
        if group.index() >= self.model.forces.groups.len() {
            return refused(format!(
                "there is no group {}; the scene has {}, numbered from 0",
                group.index(),
                self.model.forces.groups.len()
            ));
        }
        if !self.takes(clump) {
            return refused(format!(
                "a body of the shape {} cannot be added: its spheres are smaller or larger than those that the \
                 search for contacts was set up for; name the shape under \"spawn\" in the scene",
                clump.name
            ));
        }
        self.check_place(position)?;
        let orientation = check_orientation(orientation)?;
        check_vector("velocity", velocity, "m/s")?;
        check_vector("angular velocity", angular_velocity, "rad/s")?;
        if fixed && (velocity, angular_velocity) != (DVec3::ZERO, DVec3::ZERO) {
            return refused("a body that is fixed cannot be added with a velocity".to_owned());
        }
        for (quantity, number) in QUANTITIES.iter().zip(quantities.array()) {
            let fits = number > 0.0 || !quantity.is_positive;
            if !(fits && number.is_finite()) {
                let (name, unit) = (quantity.name.replace('_', " "), quantity.unit);
                let expected = match quantity.is_positive {
                    true => "a number greater than 0",
                    false => "a finite number",
                };
                return refused(format!(
                    "a body cannot have the {name} {number} {unit}; expected {expected}"
                ));
            }
        }
        Ok(ModelBody {
            shape: shape.index(),
            position: clump.position_of(position, orientation),
            orientation: clump.body_orientation(orientation),
            velocity,
            angular_velocity,
            fixed,
            group: group.index(),
            quantities,
        })
    }

    /// Whether the search for contacts was set up for spheres of these sizes.
    fn takes(&self, clump: &Clump) -> bool {
        let (smallest, largest) = self.radii;
        let mut radii = clump.spheres.iter().map(|sphere| sphere.radius);
        radii.all(|radius| (smallest..=largest).contains(&radius))
    }

    fn place_of(&self, body: BodyHandle) -> Result<usize> {
        let found = self.index_of(body);
        found.ok_or(Error::BodyGone { id: body.id() })
    }

    fn check_place(&self, position: DVec3) -> Result<()> {
        check_vector("position", position, "m")?;
        if !self.state.has_cell(position) {
            return Err(Error::Tuned(format!(
                "a body cannot be at {position} m: that is farther from the origin than the grid reaches"
            )));
        }
        Ok(())
    }

    /// A body as it is now.
    ///
    /// # Errors
    /// If it does not exist, or the device is lost.
    pub fn body(&mut self, body: BodyHandle) -> Result<BodyState> {
        let place = self.place_of(body)?;
        self.body_at(place as u32)
    }

    /// Moves a body: `position` is the origin of its shape's own axes, m; `orientation` rotates from these axes to
    /// the world. The body keeps its velocities, and its contacts keep their histories.
    ///
    /// # Errors
    /// If it is not there, a number makes no sense, or the device is lost.
    pub fn set_pose(
        &mut self,
        body: BodyHandle,
        position: DVec3,
        orientation: DQuat,
    ) -> Result<()> {
        self.check_place(position)?;
        let orientation = check_orientation(orientation)?;
        let place = self.read_to_set(body)?;
        let clump = &self.model.shapes[self.state.identities[place].shape];
        let (position, orientation) = (
            clump.position_of(position, orientation),
            clump.body_orientation(orientation),
        );
        let spin = self.fetched().body(place).angular_velocity;
        self.state.set_pose(place, position, orientation);
        self.set_spin(place, spin);
        self.state.stats[0].stale = 1;
        self.written(place);
        self.engine.write_stale(&self.state);
        // The bodies below and above it may have lost their support.
        self.wake()
    }

    /// Sets the velocity of a body's centre of mass, m/s.
    ///
    /// # Errors
    /// If it does not exist, is fixed, the velocity is not finite, or the device is lost.
    pub fn set_velocity(&mut self, body: BodyHandle, velocity: DVec3) -> Result<()> {
        check_vector("velocity", velocity, "m/s")?;
        let place = self.read_to_push(body)?;
        self.state.bodies[place].velocity = velocity.as_vec3();
        self.written(place);
        Ok(())
    }

    /// Sets the angular velocity of a body in the world frame, rad/s.
    ///
    /// # Errors
    /// As [`Simulation::set_velocity`].
    pub fn set_angular_velocity(&mut self, body: BodyHandle, velocity: DVec3) -> Result<()> {
        check_vector("angular velocity", velocity, "rad/s")?;
        let place = self.read_to_push(body)?;
        self.set_spin(place, velocity);
        self.written(place);
        Ok(())
    }

    /// Gives a body an impulse, N s, at a point of the world, m.
    ///
    /// # Errors
    /// As [`Simulation::set_velocity`].
    pub fn apply_impulse(&mut self, body: BodyHandle, impulse: DVec3, point: DVec3) -> Result<()> {
        check_vector("impulse", impulse, "N s")?;
        check_vector("point", point, "m")?;
        let place = self.read_to_push(body)?;
        let own = &self.state.bodies[place];
        let arm = self.state.nearest(point - self.state.position(own));
        let mass = self.model.shapes[self.state.identities[place].shape].mass;
        let own = &mut self.state.bodies[place];
        own.velocity = (own.velocity.as_dvec3() + impulse / mass).as_vec3();
        own.angular_momentum = (own.angular_momentum.as_dvec3() + arm.cross(impulse)).as_vec3();
        self.written(place);
        Ok(())
    }

    /// Gives a body an angular impulse, N m s.
    ///
    /// # Errors
    /// As [`Simulation::set_velocity`].
    pub fn apply_angular_impulse(&mut self, body: BodyHandle, impulse: DVec3) -> Result<()> {
        check_vector("angular impulse", impulse, "N m s")?;
        let place = self.read_to_push(body)?;
        let own = &mut self.state.bodies[place];
        own.angular_momentum = (own.angular_momentum.as_dvec3() + impulse).as_vec3();
        self.written(place);
        Ok(())
    }

    /// Sets a force, N, and a torque, N m, in the world frame, that act on a body's centre of mass from now on,
    /// besides all others. They replace those of the last call; zeros end them.
    ///
    /// # Errors
    /// As [`Simulation::set_velocity`], or if the device has no memory left.
    pub fn set_applied_force(
        &mut self,
        body: BodyHandle,
        force: DVec3,
        torque: DVec3,
    ) -> Result<()> {
        check_vector("force", force, "N")?;
        check_vector("torque", torque, "N m")?;
        let place = self.read_to_push(body)?;
        self.written(place);
        let starts = self.state.params.forces == 0;
        if starts {
            // The pass that adds forces may have been left out until now.
            self.fetch(&Field::ALL)?;
            self.state.start_forces();
        }
        self.state.apply(place, force.as_vec3(), torque.as_vec3());
        match starts {
            true => pollster::block_on(self.restart_by(Patience::Block)),
            false => self.engine.write_actions(&self.state),
        }
    }

    /// Sets the force, N, and the torque, N m, of an applied force of the scene, in the axes in which the scene gives
    /// them. Its body, point and times stay.
    ///
    /// # Errors
    /// As [`Simulation::set_velocity`], if its body has left, or if the force belongs to another simulation.
    pub fn set_force(&mut self, force: ForceHandle, value: DVec3, torque: DVec3) -> Result<()> {
        check_vector("force", value, "N")?;
        check_vector("torque", torque, "N m")?;
        let Some(applied) = self.model.forces.applied.get(force.index()) else {
            return Err(Error::Tuned(format!(
                "there is no applied force {}; the scene has {}",
                force.index(),
                self.model.forces.applied.len()
            )));
        };
        let axes = match applied.turns_along {
            true => {
                self.model.shapes[self.model.bodies.listed()[applied.body].shape].principal_axes
            }
            false => DQuat::IDENTITY,
        };
        let own = |action: &Action| {
            matches!(action.kind, PUSH | THRUST) && action.source as usize == force.index()
        };
        let Some(found) = self.state.actions.iter().position(own) else {
            return Err(Error::BodyGone {
                id: applied.body as u64,
            });
        };
        let body = self
            .state
            .identities
            .id(self.state.actions[found].body as usize);
        let place = self.read_to_push(BodyHandle::from_id(body))?;
        self.written(place);
        let action = &mut self.state.actions[found];
        action.vector = (axes.conjugate() * value).as_vec3();
        action.torque = (axes.conjugate() * torque).as_vec3();
        self.engine.write_actions(&self.state)
    }

    /// Fixes a body where it is, or frees it at rest.
    ///
    /// # Errors
    /// If it does not exist, or the device is lost.
    pub fn set_fixed(&mut self, body: BodyHandle, fixed: bool) -> Result<()> {
        let place = self.read_to_set(body)?;
        self.state.identities.change(place, |own| own.fixed = fixed);
        let own = &mut self.state.bodies[place];
        (own.velocity, own.angular_momentum) = Default::default();
        self.change_kind(place)
    }

    /// Puts a body into a group.
    ///
    /// # Errors
    /// If the body or the group does not exist, or the device is lost.
    pub fn set_group(&mut self, body: BodyHandle, group: GroupHandle) -> Result<()> {
        let count = self.model.forces.groups.len();
        if group.index() >= count {
            return Err(Error::Tuned(format!(
                "there is no group {}; the scene has {count}, numbered from 0",
                group.index()
            )));
        }
        let place = self.read_to_set(body)?;
        self.state
            .identities
            .change(place, |own| own.group = group.index());
        self.change_kind(place)
    }

    /// Whether a body sleeps.
    ///
    /// # Errors
    /// If it does not exist, or the device is lost.
    pub fn is_asleep(&mut self, body: BodyHandle) -> Result<bool> {
        let place = self.place_of(body)?;
        self.engine.read_body(place, &mut self.state)?;
        Ok(self.state.bodies[place].still & ASLEEP != 0)
    }

    fn change_kind(&mut self, place: usize) -> Result<()> {
        let model = Arc::clone(&self.model);
        self.state.set_kind(&model, place);
        self.written(place);
        self.state.stats[0].stale = 1;
        self.engine.write_stale(&self.state);
        self.wake()
    }

    /// Reads a body that the caller sets and passes to [`Simulation::written`].
    fn read_to_set(&mut self, body: BodyHandle) -> Result<usize> {
        let place = self.place_of(body)?;
        self.engine.read_body(place, &mut self.state)?;
        Ok(place)
    }

    /// Reads a body that the caller moves; an error if it is fixed.
    fn read_to_push(&mut self, body: BodyHandle) -> Result<usize> {
        let place = self.read_to_set(body)?;
        if self.state.identities[place].fixed {
            return Err(Error::Tuned(format!(
                "the body {} is fixed, and cannot be pushed; free it first",
                body.id()
            )));
        }
        Ok(place)
    }

    fn set_spin(&mut self, place: usize, velocity: DVec3) {
        let inertia = self.model.shapes[self.state.identities[place].shape].inertia;
        let own = &mut self.state.bodies[place];
        let inertia = world_inertia(body_orientation(own), inertia);
        own.angular_momentum = (inertia * velocity).as_vec3();
    }

    /// Gives the engine a changed body, and wakes it.
    fn written(&mut self, place: usize) {
        self.state.bodies[place].still = 0;
        self.engine.write_body(place, &self.state);
    }
}

fn check_vector(what: &str, vector: DVec3, unit: &str) -> Result<()> {
    match vector.as_vec3().is_finite() {
        true => Ok(()),
        false => Err(Error::Tuned(format!(
            "a {what} cannot be {vector}; expected three numbers, {unit}"
        ))),
    }
}

fn check_orientation(orientation: DQuat) -> Result<DQuat> {
    let length = orientation.length();
    if (length - 1.0).abs() > 1e-3 {
        return Err(Error::Tuned(format!(
            "an orientation cannot be {orientation}; expected a unit quaternion (x, y, z, w)"
        )));
    }
    Ok(orientation / length)
}
