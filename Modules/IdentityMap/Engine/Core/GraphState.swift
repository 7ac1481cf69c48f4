/// Counts and flags of the whole graph, by which operations skip work that no node needs.
struct GraphState {
  /// The number of nodes with the flag `inconsistent`. While any exist, values that contain them stay dirty.
  var inconsistentNodes = 0
  /// The number of links that close a cycle. Without such links, a value is current when its node is not dirty, and no
  /// group of nodes keeps itself alive.
  var cycleLinks = 0
  /// The number of nodes with handles. While any exist, the core retains itself on behalf of all handles, so that a
  /// handle needs no reference to the core.
  var handledNodes = 0
  /// Whether an aggregate may refuse the removal of an entity. Never reset, because aggregates with such key paths are
  /// not counted.
  var mayRefuse = false
  /// Whether an aggregate may have the last value of a removed entity. Never reset.
  var keepsRemoved = false
  /// Whether a set may have the former value of a member whose new value equals another member. Never reset.
  var keepsMembers = false
}
