//! Journals without the cost of text: each line is the number of an event in one table.

use fermi_domain::event::RunEvent;

#[derive(Debug, Default)]
pub struct Lines(Vec<RunEvent>);

impl Lines {
    /// The line of an event.
    pub fn write(&mut self, event: RunEvent) -> Vec<u8> {
        self.0.push(event);
        format!("{:x}\n", self.0.len() - 1).into_bytes()
    }

    /// The events of whole lines.
    pub fn read<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = &'a RunEvent> {
        let numbers = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        numbers.filter_map(|line| usize::from_str_radix(line, 16).ok()).filter_map(|number| self.0.get(number))
    }
}
