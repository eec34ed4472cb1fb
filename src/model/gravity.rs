//! Gravity over time.

use glam::DVec3;

use super::steps::StepTimes;

/// Largest gravity over the change from one piece to the next. Gravity changes in pieces because engines take several steps with
/// a constant one.
const FINENESS: f64 = 1000.0;

/// Gravity as a table over time: linear between its rows, and constant before the first and after the last row.
///
/// It changes in pieces of one or more steps, and in each piece it is constant: that of the table in the middle of the piece.
/// From piece to piece it changes by at most a thousandth of the largest gravity, unless it changes faster than that in a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GravityTable {
    /// Times (s), in increasing order, and accelerations (m/s²); empty if gravity is constant.
    pub rows: Vec<(f64, DVec3)>,
}

impl GravityTable {
    /// The largest acceleration of the table, m/s²; `None` without rows.
    pub fn largest(&self) -> Option<DVec3> {
        let accelerations = self.rows.iter().map(|(_, acceleration)| *acceleration);
        accelerations.max_by(|a, b| a.length().total_cmp(&b.length()))
    }

    /// Gravity in the step after `steps` steps, m/s²; `None` without rows.
    pub(crate) fn at(&self, steps: u64, times: StepTimes) -> Option<DVec3> {
        let (first, last) = self.piece(steps, times)?;
        match last {
            // The last row may be a little later than the step nearest to it.
            u64::MAX => self.rows.last().map(|(_, acceleration)| *acceleration),
            last => {
                let middle = 0.5 * (first as f64 + last as f64);
                Some(self.between(times.after(middle)))
            }
        }
    }

    /// Number of steps after which gravity changes next, if it does.
    pub(crate) fn after(&self, steps: u64, times: StepTimes) -> Option<u64> {
        let (_, last) = self.piece(steps, times)?;
        (last < u64::MAX).then_some(last)
    }

    /// Acceleration of the table at a time (s), m/s².
    fn between(&self, time: f64) -> DVec3 {
        let after = self.rows.partition_point(|(row, _)| *row <= time);
        let before = after.checked_sub(1).map(|index| self.rows[index]);
        match (before, self.rows.get(after)) {
            (Some((from, low)), Some((to, high))) => {
                low + (time - from) / (to - from) * (*high - low)
            }
            (Some((_, only)), None) | (None, Some(&(_, only))) => only,
            (None, None) => DVec3::ZERO,
        }
    }

    /// The piece of the step after `steps` steps: the numbers of steps after which it begins and ends.
    fn piece(&self, steps: u64, times: StepTimes) -> Option<(u64, u64)> {
        let step_of = |time: f64| times.nearest(time);
        let after = self
            .rows
            .partition_point(|(time, _)| step_of(*time) <= steps);
        let Some(before) = after.checked_sub(1) else {
            let (time, _) = self.rows.first()?;
            return Some((0, step_of(*time)));
        };
        let (from, low) = self.rows[before];
        let from = step_of(from);
        let Some((to, high)) = self.rows.get(after) else {
            return Some((from, u64::MAX));
        };
        let to = step_of(*to);
        let largest = self.largest()?.length();
        let pieces = (FINENESS * (*high - low).length() / largest).ceil();
        let pieces = if pieces.is_finite() { pieces as u64 } else { 1 };
        let pieces = pieces.clamp(1, to - from);
        let own = (steps - from) * pieces / (to - from);
        // Number of steps after which a piece begins.
        let begin = |piece: u64| from + (piece * (to - from)).div_ceil(pieces);
        Some((begin(own), begin(own + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_all_steps_and_follow_the_table() {
        let down = DVec3::NEG_Y * 10.0;
        let table = GravityTable {
            rows: vec![(0.1, down), (0.6, DVec3::X * 10.0), (0.7, DVec3::X * 10.0)],
        };
        let times = StepTimes::new(1.3e-4);
        assert_eq!(table.at(0, times), Some(down));
        assert_eq!(table.at(1_000_000, times), Some(DVec3::X * 10.0));
        assert_eq!(table.after(1_000_000, times), None);
        let (mut steps, mut pieces) = (0, 0);
        while let Some(next) = table.after(steps, times) {
            assert!(next > steps);
            let now = table.at(steps, times).unwrap();
            for step in [steps, (steps + next) / 2, next - 1] {
                assert_eq!(table.at(step, times), Some(now));
                assert_eq!(table.after(step, times), Some(next));
                let exact = table.between(times.after(step as f64));
                assert!((exact - now).length() < 0.02, "{step}: {exact} {now}");
            }
            (steps, pieces) = (next, pieces + 1);
        }
        assert!((1000..1500).contains(&pieces), "{pieces}");
        assert_eq!(GravityTable::default().at(3, times), None);
    }
}
