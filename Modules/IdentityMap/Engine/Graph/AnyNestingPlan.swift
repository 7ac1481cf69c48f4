/// The places of the entities in an aggregate, as far as they can be followed without knowing its type: whatever has to
/// find out types at run time takes longer than the work itself.
class AnyNestingPlan {
  /// Writes the values of the children that have changed into the aggregate's value, which is at an address.
  final let refresh: (UnsafeMutableRawPointer, inout LinkCursor) -> Void

  init(refresh: @escaping (UnsafeMutableRawPointer, inout LinkCursor) -> Void) {
    self.refresh = refresh
  }
}
