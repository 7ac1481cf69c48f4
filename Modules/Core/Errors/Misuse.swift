/// The end of a process whose program has a fault beyond the reach of errors.
///
/// In release builds `precondition` ends the process without its sentence; this says it in every build.
@usableFromInline enum Misuse {
  /// Fails with a sentence that says what to do, unless a condition holds.
  @inlinable @inline(__always)
  static func check(_ condition: @autoclosure () -> Bool, _ sentence: @autoclosure () -> String) {
    if !condition() { fail(sentence()) }
  }

  @usableFromInline @inline(never)
  static func fail(_ sentence: String) -> Never { fatalError(sentence) }
}
