//! An index of tokens in the order of their names, for listings. The index uses only four bytes per token, because it
//! refers to the names inside the tokens and does not copy them.

/// Largest number of tokens in a chunk. A longer chunk is split.
const CHUNK_TOKENS_MAX: usize = 128;

/// The ids of tokens in the order of their names, divided into chunks.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct NameOrder {
    chunks: Vec<Chunk>,
}

#[derive(Debug, Clone, Hash, Default)]
struct Chunk {
    // The bound is a copy of a name, so that the search for a chunk reads no tokens.
    /// Lower bound of all names in this chunk, except in the first chunk. All names of earlier chunks are below this
    /// bound.
    floor: Box<[u8]>,
    ids: Vec<u32>,
}

impl NameOrder {
    /// Returns the chunk that contains a name, or that would contain the new name.
    fn chunk(&self, name: &[u8]) -> usize {
        let behind = self.chunks.partition_point(|chunk| *chunk.floor <= *name);
        behind.saturating_sub(1)
    }

    /// Returns the chunk of a name, and the name's place in this chunk.
    fn find<'a>(
        &self,
        name: &[u8],
        name_of: &impl Fn(u32) -> &'a [u8],
    ) -> (usize, Result<usize, usize>) {
        let at = self.chunk(name);
        let place = self.chunks.get(at).map_or(Err(0), |chunk| {
            chunk.ids.binary_search_by(|&id| name_of(id).cmp(name))
        });
        (at, place)
    }

    pub(crate) fn insert<'a>(&mut self, id: u32, name: &[u8], name_of: impl Fn(u32) -> &'a [u8]) {
        let (at, Err(place)) = self.find(name, &name_of) else {
            return;
        };
        if self.chunks.is_empty() {
            self.chunks.push(Chunk::default());
        }
        let ids = &mut self.chunks[at].ids;
        ids.insert(place, id);
        if ids.len() > CHUNK_TOKENS_MAX {
            let ids = ids.split_off(CHUNK_TOKENS_MAX / 2);
            let floor = ids.first().map_or(&[][..], |&first| name_of(first)).into();
            self.chunks.insert(at + 1, Chunk { floor, ids });
        }
    }

    pub(crate) fn remove<'a>(&mut self, name: &[u8], name_of: impl Fn(u32) -> &'a [u8]) {
        if let (at, Ok(place)) = self.find(name, &name_of) {
            // The floor stays even if it was this name, because it is only a lower bound.
            self.chunks[at].ids.remove(place);
            if self.chunks[at].ids.is_empty() {
                // The floors stay valid: names of the removed chunk now belong to the chunk before it. If there is no
                // earlier chunk, they belong to the new first chunk, whose floor does not count.
                self.chunks.remove(at);
            }
        }
    }

    /// Returns the tokens after a name, in order.
    pub(crate) fn iter_after<'a>(
        &self,
        name: &[u8],
        name_of: impl Fn(u32) -> &'a [u8],
    ) -> impl Iterator<Item = u32> {
        let (at, place) = self.find(name, &name_of);
        let first = match place {
            Ok(place) => place + 1,
            Err(place) => place,
        };
        let ids = self.chunks.iter().skip(at).flat_map(|chunk| &chunk.ids);
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
        let mut order = NameOrder::default();
        for id in 0..5000 {
            order.insert(id, name_of(id), name_of);
        }
        for id in (0..5000).step_by(3) {
            order.remove(name_of(id), name_of);
        }
        let found: Vec<&[u8]> = order.iter_after(b"", name_of).map(name_of).collect();
        assert!(found.is_sorted() && found.len() == 5000 - 1667);
        let behind: Vec<&[u8]> = order.iter_after(found[700], name_of).map(name_of).collect();
        assert_eq!(behind, found[701..]);
    }
}
