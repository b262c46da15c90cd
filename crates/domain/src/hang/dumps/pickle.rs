//! Pickles as torch's flight recorder writes them: texts, numbers, lists, dicts and tuples by eighteen opcodes. What could name or
//! call anything is not among them, and whatever else stands in a file ends the reading: nothing is ever run.

use std::rc::Rc;
use std::vec::Drain;

/// More values, or deeper ones, than any such file has.
const MOST_ITEMS: usize = 4_000_000;
const DEEPEST: usize = 32;

/// A value of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    /// A list or a tuple.
    List(Vec<Item>),
    Dict(Vec<(Rc<str>, Item)>),
}

impl Item {
    pub fn get(&self, name: &str) -> Option<&Item> {
        let Self::Dict(pairs) = self else { return None };
        pairs.iter().rev().find(|(key, _)| &**key == name).map(|(_, value)| value)
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A number, which some releases of torch write as a text.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A number or a word as a word.
    pub fn as_word(&self) -> Option<String> {
        match self {
            Self::Int(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.to_string()),
            _ => None,
        }
    }

    pub fn as_list(&self) -> &[Item] {
        if let Self::List(items) = self { items } else { &[] }
    }
}

/// Why a pickle is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickleProblem {
    /// An opcode that no flight record has; most of them run something.
    OtherOpcode(u8),
    /// It ends early, or does not fit together.
    Broken,
    TooLarge,
}

struct Machine<'a> {
    rest: &'a [u8],
    /// Values, with how deep each is.
    stack: Vec<(Item, usize)>,
    /// Where on the stack lists begin that are not written yet.
    marks: Vec<usize>,
    memo: Vec<Option<Item>>,
    items: usize,
}

/// Reads what a flight recorder has written.
pub fn read(bytes: &[u8]) -> Result<Item, PickleProblem> {
    let mut machine = Machine { rest: bytes, stack: Vec::new(), marks: Vec::new(), memo: Vec::new(), items: 0 };
    loop {
        let opcode = machine.byte()?;
        if opcode == b'.' {
            return machine.pop().map(|(item, _)| item);
        }
        machine.step(opcode)?;
    }
}

impl Machine<'_> {
    fn step(&mut self, opcode: u8) -> Result<(), PickleProblem> {
        match opcode {
            // PROTO: of which protocol it is.
            0x80 => self.byte().map(drop),
            b'(' => {
                self.count()?;
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'}' => self.push(Item::Dict(Vec::new()), 1),
            b']' | b')' => self.push(Item::List(Vec::new()), 1),
            b'N' => self.push(Item::None, 0),
            0x88 => self.push(Item::Bool(true), 0),
            0x89 => self.push(Item::Bool(false), 0),
            b'K' => self.number::<1>(|bytes| i64::from(bytes[0])),
            b'M' => self.number::<2>(|bytes| i64::from(u16::from_le_bytes(bytes))),
            b'J' => self.number::<4>(|bytes| i64::from(i32::from_le_bytes(bytes))),
            0x8a => self.long(),
            b'G' => {
                let float = f64::from_be_bytes(self.array()?);
                self.push(Item::Float(float), 0)
            }
            b'X' => self.text(),
            // BINPUT and LONG_BINPUT keep what was written last, BINGET and LONG_BINGET write it again.
            b'q' => self.byte().and_then(|at| self.keep(usize::from(at))),
            b'r' => self.array().and_then(|at| self.keep(index(at))),
            b'h' => self.byte().and_then(|at| self.again(usize::from(at))),
            b'j' => self.array().and_then(|at| self.again(index(at))),
            b'e' => self.append(),
            b'u' => self.set_items(),
            // APPEND and SETITEM: Python's own pickler writes a single item like this.
            b'a' => self.mark_last(1).and_then(|()| self.append()),
            b's' => self.mark_last(2).and_then(|()| self.set_items()),
            0x85..=0x87 => self.tuple(usize::from(opcode - 0x84)),
            b't' => {
                let (items, depth) = self.taken_to_mark()?;
                let items = items.map(|(item, _)| item).collect();
                self.push(Item::List(items), depth + 1)
            }
            other => Err(PickleProblem::OtherOpcode(other)),
        }
    }

    fn bytes(&mut self, count: usize) -> Result<&[u8], PickleProblem> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(PickleProblem::Broken)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PickleProblem> {
        self.bytes(N)?.try_into().map_err(|_| PickleProblem::Broken)
    }

    fn byte(&mut self) -> Result<u8, PickleProblem> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn push(&mut self, item: Item, depth: usize) -> Result<(), PickleProblem> {
        self.count()?;
        if depth > DEEPEST {
            return Err(PickleProblem::TooLarge);
        }
        self.stack.push((item, depth));
        Ok(())
    }

    fn count(&mut self) -> Result<(), PickleProblem> {
        self.items += 1;
        if self.items > MOST_ITEMS { Err(PickleProblem::TooLarge) } else { Ok(()) }
    }

    fn pop(&mut self) -> Result<(Item, usize), PickleProblem> {
        // What lies below a mark is not to be taken before what is above it.
        let is_above = self.marks.last().is_none_or(|mark| self.stack.len() > *mark);
        self.stack.pop().filter(|_| is_above).ok_or(PickleProblem::Broken)
    }

    fn number<const N: usize>(&mut self, read: impl Fn([u8; N]) -> i64) -> Result<(), PickleProblem> {
        let number = read(self.array()?);
        self.push(Item::Int(number), 0)
    }

    /// LONG1: as many bytes as the first one says, the sign in the last.
    fn long(&mut self) -> Result<(), PickleProblem> {
        let count = usize::from(self.byte()?);
        let bytes = self.bytes(count)?;
        if count > 8 {
            return Err(PickleProblem::TooLarge);
        }
        let fill = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut whole = [fill; 8];
        whole[..count].copy_from_slice(bytes);
        self.push(Item::Int(i64::from_le_bytes(whole)), 0)
    }

    fn text(&mut self) -> Result<(), PickleProblem> {
        let length = index(self.array()?);
        let text: Rc<str> = String::from_utf8_lossy(self.bytes(length)?).into();
        self.push(Item::Text(text), 0)
    }

    /// Of what is kept to be written again only texts are: lists, as those of frames, are not looked at, and would grow beyond
    /// all bounds where one is written again in another, and that again.
    fn keep(&mut self, at: usize) -> Result<(), PickleProblem> {
        if at > self.items {
            return Err(PickleProblem::Broken);
        }
        if self.memo.len() <= at {
            self.memo.resize(at + 1, None);
        }
        self.memo[at] = match self.stack.last() {
            Some((Item::Text(text), _)) => Some(Item::Text(Rc::clone(text))),
            Some(_) => Some(Item::None),
            None => return Err(PickleProblem::Broken),
        };
        Ok(())
    }

    fn again(&mut self, at: usize) -> Result<(), PickleProblem> {
        let kept = self.memo.get(at).cloned().flatten().ok_or(PickleProblem::Broken)?;
        self.push(kept, 0)
    }

    /// What was written since the last mark, as it is, and how deep the deepest of it is.
    fn taken_to_mark(&mut self) -> Result<(Drain<'_, (Item, usize)>, usize), PickleProblem> {
        let at = self.marks.pop().filter(|at| *at <= self.stack.len()).ok_or(PickleProblem::Broken)?;
        let deepest = self.stack[at..].iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        Ok((self.stack.drain(at..), deepest))
    }

    /// The list or dict that lies below the last mark, taken off for the time in which it grows.
    fn below_mark(&mut self) -> Result<Item, PickleProblem> {
        let at = self.marks.last().and_then(|mark| mark.checked_sub(1)).ok_or(PickleProblem::Broken)?;
        let (below, _) = self.stack.get_mut(at).ok_or(PickleProblem::Broken)?;
        Ok(std::mem::replace(below, Item::None))
    }

    /// Puts it back.
    fn grown(&mut self, grown: Item, deepest: usize) -> Result<(), PickleProblem> {
        let (below, depth) = self.stack.last_mut().ok_or(PickleProblem::Broken)?;
        (*below, *depth) = (grown, (*depth).max(deepest + 1));
        if *depth > DEEPEST { Err(PickleProblem::TooLarge) } else { Ok(()) }
    }

    /// Puts a mark before the last values, as if they had been written behind one.
    fn mark_last(&mut self, count: usize) -> Result<(), PickleProblem> {
        let at = self.stack.len().checked_sub(count).ok_or(PickleProblem::Broken)?;
        if self.marks.last().is_some_and(|mark| *mark >= at) {
            return Err(PickleProblem::Broken);
        }
        self.marks.push(at);
        Ok(())
    }

    fn append(&mut self) -> Result<(), PickleProblem> {
        let Item::List(mut list) = self.below_mark()? else { return Err(PickleProblem::Broken) };
        let (items, deepest) = self.taken_to_mark()?;
        list.extend(items.map(|(item, _)| item));
        self.grown(Item::List(list), deepest)
    }

    fn set_items(&mut self) -> Result<(), PickleProblem> {
        let Item::Dict(mut pairs) = self.below_mark()? else { return Err(PickleProblem::Broken) };
        let (mut items, deepest) = self.taken_to_mark()?;
        pairs.reserve(items.len() / 2);
        while let Some((key, _)) = items.next() {
            let (Item::Text(key), Some((value, _))) = (key, items.next()) else { return Err(PickleProblem::Broken) };
            pairs.push((key, value));
        }
        drop(items);
        self.grown(Item::Dict(pairs), deepest)
    }

    fn tuple(&mut self, count: usize) -> Result<(), PickleProblem> {
        let (mut items, mut deepest) = (Vec::with_capacity(count), 0);
        for _ in 0..count {
            let (item, depth) = self.pop()?;
            deepest = deepest.max(depth);
            items.push(item);
        }
        items.reverse();
        self.push(Item::List(items), deepest + 1)
    }
}

fn index(bytes: [u8; 4]) -> usize {
    usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_run_something_is_refused_by_its_opcode() {
        for (bytes, opcode) in [
            (&b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R."[..], b'c'),
            (b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00N.", 0x95),
            (b"\x80\x02(ios\nsystem\n.", b'i'),
            (b"\x80\x02N\x81.", 0x81),
            (b"\x80\x02NQ.", b'Q'),
            (b"\x80\x02\x82\x01.", 0x82),
        ] {
            assert_eq!(read(bytes), Err(PickleProblem::OtherOpcode(opcode)), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn what_is_cut_off_or_too_deep_ends_the_reading() {
        assert_eq!(read(b"\x80\x02X\xff\xff\xff\xffa"), Err(PickleProblem::Broken));
        assert_eq!(read(b"\x80\x02h\x05."), Err(PickleProblem::Broken));
        let deep = [b"\x80\x02N".as_slice(), &[0x85; 40], b"."].concat();
        assert_eq!(read(&deep), Err(PickleProblem::TooLarge));
        // A list that is written again inside itself is nothing there.
        assert_eq!(read(b"\x80\x02]q\x00(h\x00e."), Ok(Item::List(vec![Item::None])));
    }

    #[test]
    fn single_items_are_read_as_pythons_own_pickler_writes_them() {
        let pair = Item::Dict(vec![("k".into(), Item::List(vec![Item::Bool(true)]))]);
        assert_eq!(read(b"\x80\x02}X\x01\0\0\0k]\x88as."), Ok(pair));
        for torn in
            [&b"\x80\x02a."[..], b"\x80\x02K\x07a.", b"\x80\x02](K\x07a.", b"\x80\x02}K\x07s.", b"\x80\x02](K\x07s."]
        {
            assert_eq!(read(torn), Err(PickleProblem::Broken), "{}", torn.escape_ascii());
        }
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        let list =
            read(b"\x80\x02](K\x07M\x00\x01J\xff\xff\xff\xff\x8a\x02\x00\x80\x8a\x00G?\xf0\0\0\0\0\0\0e.").unwrap();
        let numbers: Vec<Option<i64>> = list.as_list().iter().map(Item::as_int).collect();
        assert_eq!(numbers, [Some(7), Some(256), Some(-1), Some(-32_768), Some(0), None]);
    }
}
