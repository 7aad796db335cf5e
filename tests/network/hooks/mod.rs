//! Tests of real daemons with hooks. The hooks are scripts, as operators write them (`docs/reference/hooks.md`).

mod ending;
mod environment;
mod hook_dir;
mod named_locks;
mod order;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    [
        order::tests(),
        ending::tests(),
        environment::tests(),
        named_locks::tests(),
    ]
    .concat()
}
