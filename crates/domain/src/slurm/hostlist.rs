//! Slurm's way to write many host names in few characters: `node[1-3,07-12],a[1-2]b[3]`.
//!
//! Read here, so that no `scontrol` is needed: it is often missing inside containers.

/// More hosts than any cluster has: a list beyond this is a mistake, not a reason to fill the memory.
const MOST_HOSTS: usize = 100_000;
/// No host has a longer name.
const LONGEST_NAME: usize = 255;

/// The names in a list, in its order. None where the text is no such list.
pub fn expand(list: &str) -> Option<Vec<String>> {
    let mut hosts = Vec::new();
    for item in split_outside_brackets(list)? {
        expand_item(item, &mut hosts)?;
    }
    (!hosts.is_empty()).then_some(hosts)
}

/// Parts at commas, except those inside brackets.
fn split_outside_brackets(list: &str) -> Option<Vec<&str>> {
    let (mut items, mut from, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if inside => return None,
            '[' => inside = true,
            ']' if !inside => return None,
            ']' => inside = false,
            ',' if !inside => {
                items.push(list.get(from..at)?.trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    items.push(list.get(from..)?.trim());
    (!inside && items.iter().all(|item| !item.is_empty())).then_some(items)
}

/// `rack[0-1]node[1-2]` counts like a number: the last bracket runs fastest.
fn expand_item(item: &str, hosts: &mut Vec<String>) -> Option<()> {
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((before, after)) = rest.split_once('[') {
        let (ranges, behind) = after.split_once(']')?;
        let numbers = expand_ranges(ranges)?;
        let longest = names.iter().chain(&numbers).map(String::len).max().unwrap_or(0);
        if longest + before.len() > LONGEST_NAME {
            return None;
        }
        if names.len().checked_mul(numbers.len())? > MOST_HOSTS {
            return None;
        }
        names =
            names.iter().flat_map(|name| numbers.iter().map(move |number| format!("{name}{before}{number}"))).collect();
        rest = behind;
    }
    if hosts.len() + names.len() > MOST_HOSTS || rest.len() > LONGEST_NAME || rest.contains(char::is_whitespace) {
        return None;
    }
    hosts.extend(names.into_iter().map(|name| name + rest));
    Some(())
}

/// `1-3,07-12,x`: a number keeps the leading zeroes of its range's first end.
fn expand_ranges(ranges: &str) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for range in ranges.split(',').map(str::trim) {
        let Some((first, last)) = range.split_once('-') else {
            if range.is_empty() || !range.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return None;
            }
            numbers.push(range.to_owned());
            continue;
        };
        let width = first.len();
        let (first, last) = (number(first)?, number(last)?);
        let room = (MOST_HOSTS - numbers.len().min(MOST_HOSTS)) as u64;
        if first > last || last - first >= room || width > LONGEST_NAME {
            return None;
        }
        numbers.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

fn number(text: &str) -> Option<u64> {
    // A sign would be read by `parse`, but is none here.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// `2(x3),1`: how many tasks each node has, in the order of the node list.
pub fn expand_counts(list: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for item in list.split(',').map(str::trim) {
        let (count, times) = match item.split_once("(x") {
            Some((count, times)) => (count, number(times.strip_suffix(')')?)?),
            None => (item, 1),
        };
        let count = u32::try_from(number(count)?).ok()?;
        let times = usize::try_from(times).ok().filter(|times| *times <= MOST_HOSTS - counts.len().min(MOST_HOSTS))?;
        counts.extend(std::iter::repeat_n(count, times));
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(list: &str) -> Option<String> {
        expand(list).map(|hosts| hosts.join(" "))
    }

    #[test]
    fn every_form_of_a_list_is_expanded_in_its_order() {
        for (list, hosts) in [
            ("n1", "n1"),
            ("n[1-3]", "n1 n2 n3"),
            ("node[1-3,07-09],login", "node1 node2 node3 node07 node08 node09 login"),
            ("a[1-2]b[3]", "a1b3 a2b3"),
            ("rack[0-1]n[1-2].lan", "rack0n1.lan rack0n2.lan rack1n1.lan rack1n2.lan"),
            ("gpu-[098-101]", "gpu-098 gpu-099 gpu-100 gpu-101"),
            ("z9,a[10,2]", "z9 a10 a2"),
            ("n[3]", "n3"),
            ("[1-2]x", "1x 2x"),
            ("10.0.0.[4-5]", "10.0.0.4 10.0.0.5"),
            ("tux[a,b]", "tuxa tuxb"),
        ] {
            assert_eq!(joined(list).as_deref(), Some(hosts), "{list}");
        }
    }

    #[test]
    fn what_is_no_list_is_none() {
        for list in
            ["", ",", "n[1-3", "n1-3]", "n[[1]]", "n[3-1]", "n[]", "n[1,]", "n[a-b]", "n[-1]", "n[0-99999999]", "a b"]
        {
            assert_eq!(joined(list), None, "{list}");
        }
    }

    #[test]
    fn counts_are_expanded() {
        assert_eq!(expand_counts("2(x3),1"), Some(vec![2, 2, 2, 1]));
        assert_eq!(expand_counts("4"), Some(vec![4]));
        assert_eq!(expand_counts("3,1(x2)"), Some(vec![3, 1, 1]));
        for bad in ["", "x", "2(3)", "2(x", "-1", "1(x99999999)"] {
            assert_eq!(expand_counts(bad), None, "{bad}");
        }
    }
}
