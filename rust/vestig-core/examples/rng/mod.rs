//! Numbers to measure with: a fixed linear congruence.

pub struct Rng(pub u64);

impl Rng {
    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
