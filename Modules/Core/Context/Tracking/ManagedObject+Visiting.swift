// Safety of `Unmanaged`: the array keeps its objects until `visit` returns.
extension [ManagedObject] {
  /// Visits objects without counting a reference to each, which would cost more than the call of an empty hook.
  @inline(__always) func visit(from start: Int = 0, _ body: (ManagedObject) -> Void) {
    for index in start..<count { Unmanaged.passUnretained(self[index])._withUnsafeGuaranteedRef { body($0) } }
  }
}
