//! Counts over the last stretch of time, in slices.
//!
//! `N` slices of `W` counters each. A count leaves between the stretch minus one slice and the
//! stretch after it was made, never later. Slices are laid from the first count after a quiet
//! stretch, so that this count leaves exactly at the end of its time.

#[derive(Debug)]
pub(crate) struct Sliding<const N: usize, const W: usize> {
    slice: u64,
    origin: u64,
    /// Absolute number of the newest slice, counted from `origin`.
    newest: u64,
    /// Whether any slice holds a count; while none does, the next count lays the slices anew.
    live: bool,
    slices: Box<[[u32; W]; N]>,
    totals: [u32; W],
}

impl<const N: usize, const W: usize> Sliding<N, W> {
    /// An empty window over `stretch` nanoseconds.
    pub(crate) fn new(stretch: u64) -> Self {
        Self {
            slice: stretch.div_ceil(N as u64).max(1),
            origin: 0,
            newest: 0,
            live: false,
            slices: Box::new([[0; W]; N]),
            totals: [0; W],
        }
    }

    /// Adds `counts` at `now`. A clock that steps back counts into the newest slice.
    pub(crate) fn add(&mut self, now: u64, counts: [u32; W]) {
        self.forget(now);
        if !self.live {
            self.live = true;
            self.origin = now;
            self.newest = 0;
        }
        self.add_to_newest(counts);
    }

    /// Adds `counts` to the newest slice, as at an instant before its [end](Self::end_of_newest).
    pub(crate) fn add_to_newest(&mut self, counts: [u32; W]) {
        let slot = &mut self.slices[Self::place(self.newest)];
        for ((cell, total), count) in slot.iter_mut().zip(&mut self.totals).zip(counts) {
            *cell = cell.saturating_add(count);
            *total = total.saturating_add(count);
        }
    }

    /// Before which instant counts go into the newest slice; nothing while no count is held.
    pub(crate) fn end_of_newest(&self) -> Option<u64> {
        let end = || {
            let since = self.slice.saturating_mul(self.newest.saturating_add(1));
            self.origin.saturating_add(since)
        };
        self.live.then(end)
    }

    /// The sums when it was last looked at or added to.
    pub(crate) fn latest(&self) -> [u32; W] {
        self.totals
    }

    /// The sums over the stretch that ends at `now`.
    pub(crate) fn totals(&mut self, now: u64) -> [u32; W] {
        self.forget(now);
        self.totals
    }

    /// The slices that hold a count, oldest first: when each began, and what it holds.
    pub(crate) fn slices(&mut self, now: u64) -> impl Iterator<Item = (u64, [u32; W])> + '_ {
        self.forget(now);
        let oldest = self.newest.saturating_sub(N as u64 - 1);
        let held = if self.live { oldest..self.newest + 1 } else { 0..0 };
        held.map(|slice| (self.origin + slice * self.slice, self.slices[Self::place(slice)]))
            .filter(|(_, counts)| *counts != [0; W])
    }

    /// Everything is forgotten.
    pub(crate) fn clear(&mut self) {
        if self.live {
            self.live = false;
            *self.slices = [[0; W]; N];
            self.totals = [0; W];
        }
    }

    fn place(slice: u64) -> usize {
        // The remainder is below N, which is a usize.
        #[allow(clippy::cast_possible_truncation)]
        let place = (slice % N as u64) as usize;
        place
    }

    fn forget(&mut self, now: u64) {
        if !self.live {
            return;
        }
        let current = now.saturating_sub(self.origin) / self.slice;
        if current <= self.newest {
            return;
        }
        if current - self.newest >= N as u64 {
            self.clear();
            return;
        }
        while self.newest < current {
            self.newest += 1;
            let slot = &mut self.slices[Self::place(self.newest)];
            for (cell, total) in slot.iter_mut().zip(&mut self.totals) {
                *total -= *cell;
                *cell = 0;
            }
        }
        if self.totals == [0; W] {
            self.live = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_leaves_exactly_at_the_end_of_the_stretch_when_it_began_the_window() {
        let mut window = Sliding::<10, 1>::new(1_000);
        window.add(5_000, [1]);
        assert_eq!(window.totals(5_999), [1]);
        assert_eq!(window.totals(6_000), [0]);
    }

    #[test]
    fn a_count_leaves_between_the_stretch_minus_a_slice_and_the_stretch() {
        let mut window = Sliding::<10, 1>::new(1_000);
        window.add(0, [1]);
        window.add(199, [1]);
        assert_eq!(window.totals(999), [2]);
        assert_eq!(window.totals(1_099), [1]);
        assert_eq!(window.totals(1_100), [0]);
    }

    #[test]
    fn a_clock_that_steps_back_loses_nothing() {
        let mut window = Sliding::<10, 1>::new(1_000);
        window.add(5_000, [1]);
        window.add(100, [1]);
        assert_eq!(window.totals(5_100), [2]);
    }

    #[test]
    fn counts_go_into_the_newest_slice_until_its_end() {
        let mut window = Sliding::<10, 1>::new(1_000);
        assert_eq!(window.end_of_newest(), None);
        window.add(5_000, [1]);
        window.add(5_150, [1]);
        assert_eq!(window.end_of_newest(), Some(5_200));
        window.add(5_199, [1]);
        assert_eq!(window.end_of_newest(), Some(5_200));
        window.add_to_newest([4]);
        assert_eq!(window.latest(), [7]);
        assert_eq!(window.slices(5_199).collect::<Vec<_>>(), [(5_000, [1]), (5_100, [6])]);
        window.add(5_200, [1]);
        assert_eq!(window.end_of_newest(), Some(5_300));
        assert_eq!(window.totals(9_000), [0]);
        assert_eq!(window.end_of_newest(), None);
    }

    #[test]
    fn its_slices_are_told_with_their_beginning_until_they_leave() {
        let mut window = Sliding::<10, 1>::new(1_000);
        window.add(5_000, [1]);
        window.add(5_050, [2]);
        window.add(5_320, [4]);
        assert_eq!(window.slices(5_400).collect::<Vec<_>>(), [(5_000, [3]), (5_300, [4])]);
        assert_eq!(window.slices(6_000).collect::<Vec<_>>(), [(5_300, [4])]);
        assert_eq!(window.slices(9_000).count(), 0);
        window.add(9_001, [1]);
        assert_eq!(window.slices(9_001).collect::<Vec<_>>(), [(9_001, [1])]);
    }

    #[test]
    fn an_hour_in_one_step_empties_it() {
        let mut window = Sliding::<32, 2>::new(5_000_000_000);
        window.add(0, [3, 1]);
        assert_eq!(window.totals(3_600_000_000_000), [0, 0]);
        window.add(3_600_000_000_001, [1, 0]);
        assert_eq!(window.totals(3_600_000_000_001), [1, 0]);
    }
}
