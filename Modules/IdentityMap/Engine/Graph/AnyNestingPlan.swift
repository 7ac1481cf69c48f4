/// The key paths to the nested entities of an aggregate, without its type: the type is erased once, because a cast for
/// each value would take longer than the rebuild.
class AnyNestingPlan {
  /// Writes the changed values of the children into the aggregate's value at an address.
  final let writeChildren: (UnsafeMutableRawPointer, inout LinkCursor) -> Void

  init(writeChildren: @escaping (UnsafeMutableRawPointer, inout LinkCursor) -> Void) {
    self.writeChildren = writeChildren
  }
}
