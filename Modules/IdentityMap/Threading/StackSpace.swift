import CoherenceRuntime

/// Provides the stack for walks over nested values of any depth.
///
/// A walk over nested entities calls closures that are compiled for their types, and code of the user, so each level
/// takes stack. At the end of the thread's stack, the walk continues on another stack of the same thread: locks and
/// thread-local state are unaffected. Shallow values need no other stack; for them the check costs a few nanoseconds.
enum StackSpace {
  /// The stack that one level may use between two checks, with the code of the user in it.
  private static let level = 128 << 10
  /// The size of a further stack, for about 2,500 levels without optimization.
  private static let segment = 8 << 20
  /// The stack that one level of a value uses in code of the user, or in code that the compiler writes for it: `==`
  /// and the release of a value. Measured: 80 to 400 bytes.
  private static let perLevel = 2 << 10
  /// The greatest height of a node whose value uses at most the stack of one level.
  private static let greatestShallowHeight: Int32 = 32

  /// Runs one level of a walk. The closure may run the next level.
  @inline(__always)
  static func forLevel<R>(_ body: () -> R) -> R {
    coherence_has_stack(level) ? body() : move(to: segment, body)
  }

  /// Runs a closure that recurses, in code of the user, over the whole value of a node.
  /// - Parameter height: The height of the node.
  @inline(__always)
  static func forValue<R>(ofHeight height: Int32, _ body: () -> R) -> R {
    height <= greatestShallowHeight ? body() : forDeepValue(ofHeight: height, body)
  }

  private static func forDeepValue<R>(ofHeight height: Int32, _ body: () -> R) -> R {
    let bytes = level + Int(height) * perLevel
    return coherence_has_stack(bytes) ? body() : move(to: bytes + level, body)
  }

  @inline(never)
  private static func move<R>(to bytes: Int, _ body: () -> R) -> R {
    var result: R?
    withoutActuallyEscaping({ result = body() }) { body in
      var call: () -> Void = body
      withUnsafeMutablePointer(to: &call) { call in
        // Safety of `assumingMemoryBound`: the argument is the address of `call`.
        coherence_call_on_stack(bytes, { $0?.assumingMemoryBound(to: (() -> Void).self).pointee() }, call)
      }
    }
    // The call above has made it.
    guard let result else { fatalError("A function on another stack was not called.") }
    return result
  }
}
