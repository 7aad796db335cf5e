//! Tokens in the order of their names, which listings follow. Names are compared where they lie, in the tokens;
//! here a token takes four bytes.

/// The most tokens of a chunk; one that has more becomes two.
const CHUNK: usize = 512;

/// Numbers of tokens in chunks, each sorted, and one behind the other.
#[derive(Debug, Default)]
pub(super) struct Order {
    chunks: Vec<Vec<u32>>,
}

impl Order {
    /// The chunk in which a name is, or belongs, and its place there.
    fn find<'a>(
        &self,
        name: &[u8],
        name_of: &impl Fn(u32) -> &'a [u8],
    ) -> (usize, Result<usize, usize>) {
        let behind = self
            .chunks
            .partition_point(|chunk| chunk.first().is_some_and(|&id| name_of(id) <= name));
        let chunk = behind.saturating_sub(1);
        let at = self.chunks.get(chunk).map_or(Err(0), |ids| {
            ids.binary_search_by(|&id| name_of(id).cmp(name))
        });
        (chunk, at)
    }

    /// Puts a token in its place.
    pub(super) fn insert<'a>(&mut self, id: u32, name: &[u8], name_of: impl Fn(u32) -> &'a [u8]) {
        let (chunk, Err(at)) = self.find(name, &name_of) else {
            return;
        };
        if self.chunks.is_empty() {
            self.chunks.push(Vec::new());
        }
        let ids = &mut self.chunks[chunk];
        ids.insert(at, id);
        if ids.len() > CHUNK {
            let upper = ids.split_off(CHUNK / 2);
            self.chunks.insert(chunk + 1, upper);
        }
    }

    /// Takes a token out.
    pub(super) fn remove<'a>(&mut self, name: &[u8], name_of: impl Fn(u32) -> &'a [u8]) {
        if let (chunk, Ok(at)) = self.find(name, &name_of) {
            self.chunks[chunk].remove(at);
            if self.chunks[chunk].is_empty() {
                self.chunks.remove(chunk);
            }
        }
    }

    /// Those behind a name, in order.
    pub(super) fn after<'a>(
        &self,
        name: &[u8],
        name_of: impl Fn(u32) -> &'a [u8],
    ) -> impl Iterator<Item = u32> {
        let (chunk, at) = self.find(name, &name_of);
        let first = match at {
            Ok(at) => at + 1,
            Err(at) => at,
        };
        let ids = self.chunks.iter().skip(chunk).flatten();
        ids.skip(first).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_sorted_whatever_comes_and_goes() {
        let names: Vec<Vec<u8>> = (0..5000_u32)
            .map(|i| (i * 7919 % 5003).to_be_bytes().into())
            .collect();
        let name_of = |id: u32| &names[id as usize][..];
        let mut order = Order::default();
        for id in 0..5000 {
            order.insert(id, name_of(id), name_of);
        }
        for id in (0..5000).step_by(3) {
            order.remove(name_of(id), name_of);
        }
        let found: Vec<&[u8]> = order.after(b"", name_of).map(name_of).collect();
        assert!(found.is_sorted() && found.len() == 5000 - 1667);
        let behind: Vec<&[u8]> = order.after(found[700], name_of).map(name_of).collect();
        assert_eq!(behind, found[701..]);
    }
}
