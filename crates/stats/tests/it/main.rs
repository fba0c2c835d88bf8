//! Statistics against exact numbers, against SciPy, and against simulated experiments of known truth.

mod between;
mod encoding;
mod fit;
mod histogram;
mod knees;
mod little;
mod noise;
mod pooled;
mod scipy;
mod simulation;
mod stall;
mod trend;
