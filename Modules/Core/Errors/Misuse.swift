/// Ends the process with a sentence when the program misuses the framework in a way that an error cannot report.
///
/// In release builds `precondition` ends the process without its sentence; these functions print it in every build.
@usableFromInline enum Misuse {
  /// Fails with a sentence that says what to do, unless a condition holds.
  @inlinable @inline(__always)
  static func check(_ condition: @autoclosure () -> Bool, _ sentence: @autoclosure () -> String) {
    if !condition() { fail(sentence()) }
  }

  @usableFromInline @inline(never)
  static func fail(_ sentence: String) -> Never { fatalError(sentence) }
}
