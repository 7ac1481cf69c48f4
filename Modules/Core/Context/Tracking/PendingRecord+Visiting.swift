// Safety of `Unmanaged` and `withMemoryRebound`: the array keeps its records until `visit` returns, and an unmanaged
// reference has the layout of a strong one.
extension [PendingRecord] {
  /// Visits all records without counting a reference to each, for passes over the records of a large save: the array
  /// keeps them.
  @inline(__always) func visit(_ body: (Unmanaged<PendingRecord>) throws -> Void) rethrows {
    try withUnsafeBufferPointer { buffer in
      try buffer.withMemoryRebound(to: Unmanaged<PendingRecord>.self) { for record in $0 { try body(record) } }
    }
  }
}
