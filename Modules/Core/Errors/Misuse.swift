/// Ends the process with a sentence for the developer, after a misuse of the framework where no error can be thrown.
///
/// In release builds `precondition` ends the process without its sentence; these functions print it in every build.
@usableFromInline enum Misuse {
  /// Ends the process unless a condition holds.
  ///
  /// - Parameter sentence: The misuse and its correction. Evaluated only after a misuse.
  @inlinable @inline(__always)
  static func check(_ condition: @autoclosure () -> Bool, _ sentence: @autoclosure () -> String) {
    if !condition() { fail(sentence()) }
  }

  @usableFromInline @inline(never)
  static func fail(_ sentence: String) -> Never { fatalError(sentence) }
}
