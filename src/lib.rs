pub mod clump;
pub mod layout;
pub mod model;
pub mod pass;
pub mod scene;
