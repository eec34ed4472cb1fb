//! The structs of [`layout`](crate::state::layout) in either precision, and what turns one into the other.

use glam::{IVec3, IVec4, UVec3, Vec2, Vec3, Vec4};

use super::grid::Place;
use super::real::Real;
use super::rotation::{Orientation, Quaternion};
use super::vector::Vector;
use crate::state::layout;

/// A value that stands for one of type `T` of the state.
pub trait Mirror<T> {
    /// Becomes `value`. Numbers that round to it already stay what they are: so what nobody has changed keeps its
    /// precision.
    fn take(&mut self, value: &T);
    /// Makes `value` what this rounds to.
    fn give(&self, value: &mut T);
}

impl<R: Real> Mirror<f32> for R {
    fn take(&mut self, value: &f32) {
        *self = R::refined(*value, *self);
    }
    fn give(&self, value: &mut f32) {
        *value = self.rounded();
    }
}

impl<R: Real> Mirror<Vec3> for Vector<R> {
    fn take(&mut self, value: &Vec3) {
        self.x.take(&value.x);
        self.y.take(&value.y);
        self.z.take(&value.z);
    }
    fn give(&self, value: &mut Vec3) {
        *value = self.rounded();
    }
}

impl<R: Real> Mirror<Vec4> for Quaternion<R> {
    fn take(&mut self, value: &Vec4) {
        self.xyz.take(&value.truncate());
        self.w.take(&value.w);
    }
    fn give(&self, value: &mut Vec4) {
        *value = self.xyz.rounded().extend(self.w.rounded());
    }
}

impl<R: Real> Mirror<UVec3> for Place<R> {
    fn take(&mut self, value: &UVec3) {
        for (own, value) in self.0.iter_mut().zip(value.to_array()) {
            *own = R::refined_part(value, *own);
        }
    }
    fn give(&self, value: &mut UVec3) {
        *value = UVec3::from_array(self.0.map(R::rounded_part));
    }
}

impl<R: Real> Mirror<IVec4> for Orientation<R> {
    fn take(&mut self, value: &IVec4) {
        for (own, value) in self.0.iter_mut().zip(value.to_array()) {
            *own = R::refined_turn(value, *own);
        }
    }
    fn give(&self, value: &mut IVec4) {
        *value = IVec4::from_array(self.0.map(R::rounded_turn));
    }
}

impl<R: Real> Mirror<Vec2> for [R; 2] {
    fn take(&mut self, value: &Vec2) {
        self[0].take(&value.x);
        self[1].take(&value.y);
    }
    fn give(&self, value: &mut Vec2) {
        *value = Vec2::new(self[0].rounded(), self[1].rounded());
    }
}

impl<R: Real> Mirror<Vec4> for [R; 4] {
    fn take(&mut self, value: &Vec4) {
        self.iter_mut()
            .zip(value.to_array())
            .for_each(|(own, value)| own.take(&value));
    }
    fn give(&self, value: &mut Vec4) {
        *value = Vec4::from_array(self.map(R::rounded));
    }
}

impl Mirror<u32> for u32 {
    fn take(&mut self, value: &u32) {
        *self = *value;
    }
    fn give(&self, value: &mut u32) {
        *value = *self;
    }
}

impl Mirror<IVec3> for IVec3 {
    fn take(&mut self, value: &IVec3) {
        *self = *value;
    }
    fn give(&self, value: &mut IVec3) {
        *value = *self;
    }
}

impl<T, M: Mirror<T> + Clone + Default> Mirror<Vec<T>> for Vec<M> {
    fn take(&mut self, value: &Vec<T>) {
        self.take_all(value);
    }
    fn give(&self, value: &mut Vec<T>) {
        self.iter()
            .zip(value)
            .for_each(|(own, value)| own.give(value));
    }
}

/// Variant of [`Mirror::take`] for a slice.
pub trait TakeAll<T> {
    fn take_all(&mut self, values: &[T]);
}

impl<T, M: Mirror<T> + Clone + Default> TakeAll<T> for Vec<M> {
    fn take_all(&mut self, values: &[T]) {
        self.resize(values.len(), M::default());
        self.iter_mut()
            .zip(values)
            .for_each(|(own, value)| own.take(value));
    }
}

impl<T, M: Mirror<T>, const COUNT: usize> Mirror<[T; COUNT]> for [M; COUNT] {
    fn take(&mut self, value: &[T; COUNT]) {
        self.iter_mut()
            .zip(value)
            .for_each(|(own, value)| own.take(value));
    }
    fn give(&self, value: &mut [T; COUNT]) {
        self.iter()
            .zip(value)
            .for_each(|(own, value)| own.give(value));
    }
}

/// Structs with fields of the same names as those of [`layout`], where they are explained.
macro_rules! mirrors {
    ($($name:ident { $($field:ident: $type:ty,)* })*) => {$(
        #[doc = concat!("See [`layout::", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name<R: Real> {
            $(pub $field: $type,)*
        }

        impl<R: Real> Mirror<layout::$name> for $name<R> {
            fn take(&mut self, value: &layout::$name) {
                $(self.$field.take(&value.$field);)*
            }
            fn give(&self, value: &mut layout::$name) {
                $(self.$field.give(&mut value.$field);)*
            }
        }
    )*};
}

pub(super) use mirrors;

mirrors! {
    Params {
        wall_count: u32,
        bucket_count: u32,
        gravity: Vector<R>,
        time_step: R,
        cell_size: Vector<R>,
        level_count: u32,
        period: IVec3,
        skin: R,
        slow_skin: R,
        fast_displacement: R,
        finest: R,
        displacement_limit: R,
        touch_margin: R,
        foresight: R,
        neighbour_capacity: u32,
        material_count: u32,
        integrator: u32,
        law: u32,
        history_size: u32,
        limit_damping: u32,
        rescales: u32,
        tangential_damping: R,
        wall_loads: u32,
        force_unit: R,
        torque_unit: R,
        pulled: u32,
        pull_stiffness: R,
        pull_damping: R,
        pull_point: Vector<R>,
        pull_cell: IVec3,
        pull_offset: Vector<R>,
        forces: u32,
        bonds: u32,
        sleep_steps: u32,
        sleep_speed: R,
        wake_acceleration: R,
        moving_walls: u32,
        heat: u32,
        wave_count: u32,
        water_density: R,
        water_drag: R,
        water_viscosity: R,
        water_level: R,
        earlier: R,
        wave_origin: [R; 2],
        waves: [[R; 4]; layout::MAX_WAVES],
        deforms: u32,
        strain_rate: Vector<R>,
        first_step: u32,
        gradient: Vector<R>,
        stretch: R,
        shear_rate: Vector<R>,
        first_cell_size: Vector<R>,
        growth: Vector<R>,
        tilt: Vector<R>,
        first_tilt: Vector<R>,
        tilting: Vector<R>,
    }
    Body {
        offset: Place<R>,
        still: u32,
        cell: IVec3,
        kind: u32,
        orientation: Orientation<R>,
        velocity: Vector<R>,
        first_sphere: u32,
        angular_momentum: Vector<R>,
        displacement_bound: R,
    }
    BodyProperties {
        inverse_inertia: Vector<R>,
        inverse_mass: R,
        first_member: u32,
        sphere_count: u32,
        reach: R,
        group: u32,
        landing: u32,
    }
    Member {
        center: Vector<R>,
        radius: R,
        material: u32,
        turning: R,
    }
    Group {
        gravity: Vector<R>,
        ignores: u32,
        drag: R,
        angular_drag: R,
    }
    Action {
        point: Vector<R>,
        kind: u32,
        vector: Vector<R>,
        body: u32,
        torque: Vector<R>,
        other: u32,
        cell: IVec3,
        source: u32,
        stiffness: R,
        damping: R,
        rest_length: R,
        slack: u32,
        start: R,
        end: R,
        acts: u32,
    }
    BodyForce {
        force: Vector<R>,
        drag: R,
        torque: Vector<R>,
        drag_rest: R,
        acceleration: Vector<R>,
        displacement: R,
        work: R,
        work_rest: R,
    }
    Sphere {
        offset: Vector<R>,
        radius: R,
        cell: IVec3,
        body: u32,
        velocity: Vector<R>,
        inverse_mass: R,
        angular_velocity: Vector<R>,
        tags: u32,
    }
    SphereLoad {
        force: Vector<R>,
        max_overlap: R,
        torque: Vector<R>,
        contacts: u32,
        damping: R,
        damping_rest: R,
        friction: R,
        friction_rest: R,
    }
    SummedLoad {
        force: Vector<R>,
        work: R,
        torque: Vector<R>,
        work_rest: R,
    }
    Wall {
        cell: IVec3,
        material: u32,
        offset: Vector<R>,
        inverse_mass: R,
        orientation: Quaternion<R>,
        velocity: Vector<R>,
        first_node: u32,
        angular_velocity: Vector<R>,
        node_count: u32,
        belt: Vector<R>,
        displacement_bound: R,
    }
    DynamicWall {
        body: Body<R>,
        inverse_inertia: Vector<R>,
        inverse_mass: R,
        rail: Vector<R>,
        wall: u32,
        axle: Vector<R>,
        servo_speed: R,
        force: Vector<R>,
        servo_force: R,
        torque: Vector<R>,
        reach: R,
        drift: Vector<R>,
    }
    Facet {
        a: Vector<R>,
        kind: u32,
        b: Vector<R>,
        wall: u32,
        c: Vector<R>,
        side: u32,
        d: Vector<R>,
        first: u32,
    }
    Node {
        min: Vector<R>,
        skip: u32,
        max: Vector<R>,
        facets: u32,
    }
}
