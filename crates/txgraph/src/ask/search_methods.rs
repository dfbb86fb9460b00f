//! The methods that questions with a search have in common.

/// Methods of a question that change its [`SearchOptions`], which is the field `$field`.
macro_rules! search_methods {
    ($($field:tt).+) => {
        crate::select::selection_methods!($($field).+.selection);

        /// Starts from this address, too.
        pub fn root(mut self, root: alloy_primitives::Address) -> Self {
            if !self.$($field).+.roots.contains(&root) {
                self.$($field).+.roots.push(root);
            }
            self
        }

        /// How far to follow: a number, or [`Hops::All`](crate::Hops::All). Default: 1.
        pub fn hops(mut self, hops: impl Into<crate::Hops>) -> Self {
            self.$($field).+.hops = hops.into();
            self
        }

        /// The direction to follow; default: out.
        pub fn direction(mut self, direction: txgraph_transfers::Direction) -> Self {
            self.$($field).+.direction = direction;
            self
        }

        /// Follows a transfer only if it happened after the tokens arrived; with direction
        /// `In`, only if it happened before they left.
        pub fn time_respecting(mut self) -> Self {
            self.$($field).+.time_respecting = true;
            self
        }

        /// Does not expand addresses with more counterparties.
        pub fn max_degree(mut self, counterparties: u32) -> Self {
            self.$($field).+.max_degree = Some(counterparties);
            self
        }

        /// Does not expand this address, and labels it. Call again for more addresses.
        pub fn stop_at(
            mut self,
            address: alloy_primitives::Address,
            label: impl Into<String>,
        ) -> Self {
            let label: String = label.into();
            self.$($field).+.stop_at.insert(address);
            if !label.is_empty() {
                self.$($field).+.labels.add(address, txgraph_labels::Label::named(label));
            }
            self
        }

        /// Names addresses in the answer. Earlier labels have priority.
        pub fn labels(mut self, labels: &txgraph_labels::Labels) -> Self {
            self.$($field).+.labels.extend(labels);
            self
        }

        /// Ends with at most this number of vertices.
        pub fn max_vertices(mut self, vertices: u64) -> Self {
            self.$($field).+.max_vertices = Some(vertices);
            self
        }

        /// Ends with at most this number of edges.
        pub fn max_edges(mut self, edges: u64) -> Self {
            self.$($field).+.max_edges = Some(edges);
            self
        }

        /// Follows only the counterparties with the largest amounts: this number from each
        /// address and token.
        pub fn largest(mut self, counterparties: u32) -> Self {
            self.$($field).+.top = Some(counterparties);
            self
        }

        /// Expands the zero address, too.
        pub fn expand_zero(mut self) -> Self {
            self.$($field).+.expand_zero = true;
            self
        }

        /// Replaces all options of the search.
        pub fn options(mut self, options: crate::SearchOptions) -> Self {
            self.$($field).+ = options;
            self
        }
    };
}
pub(super) use search_methods;
