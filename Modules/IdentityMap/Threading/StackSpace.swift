import CoherenceRuntime

/// Provides the stack for walks over nested values of any depth.
///
/// A walk over nested entities calls closures compiled for their types, and code of the user, so each level takes
/// stack. At the end of the thread's stack, the walk continues on another stack of the same thread: locks and
/// thread-local state are unaffected. Shallow values need no other stack; for them the check costs a few nanoseconds.
enum StackSpace {
  /// The bytes of stack that one level of a walk may use between two checks, with the code of the user in it.
  private static let bytesOfCheckedLevel = 128 << 10
  /// The size in bytes of a further stack, for about 2,500 levels without optimization.
  private static let bytesOfFurtherStack = 8 << 20
  /// The bytes of stack for each level of a value in code that recurses without checks: `==` and the release of a
  /// value, by the user or by the compiler. It uses 80 to 400 bytes.
  private static let bytesOfUncheckedLevel = 2 << 10
  /// The greatest height of a node whose whole value uses less stack than one checked level, so that a check for the
  /// level suffices.
  private static let greatestShallowHeight: Int32 = 32

  /// Runs one level of a walk. The closure may run the next level.
  @inline(__always)
  static func forLevel<R>(_ body: () -> R) -> R {
    coherence_has_stack(bytesOfCheckedLevel) ? body() : onFurtherStack(of: bytesOfFurtherStack, body)
  }

  /// Runs a closure that recurses, in code of the user, over the whole value of a node.
  /// - Parameter height: The height of the node.
  @inline(__always)
  static func forValue<R>(ofHeight height: Int32, _ body: () -> R) -> R {
    height <= greatestShallowHeight ? body() : forDeepValue(ofHeight: height, body)
  }

  private static func forDeepValue<R>(ofHeight height: Int32, _ body: () -> R) -> R {
    let bytes = bytesOfCheckedLevel + Int(height) * bytesOfUncheckedLevel
    return coherence_has_stack(bytes) ? body() : onFurtherStack(of: bytes + bytesOfCheckedLevel, body)
  }

  /// Runs a closure on a new stack of the calling thread.
  @inline(never)
  private static func onFurtherStack<R>(of bytes: Int, _ body: () -> R) -> R {
    var result: R?
    withoutActuallyEscaping({ result = body() }) { body in
      var call: () -> Void = body
      withUnsafeMutablePointer(to: &call) { call in
        // Safety of `assumingMemoryBound`: the argument is the address of `call`.
        coherence_call_on_stack(bytes, { $0?.assumingMemoryBound(to: (() -> Void).self).pointee() }, call)
      }
    }
    // `coherence_call_on_stack` returns after the closure.
    guard let result else { fatalError("A function on another stack was not called.") }
    return result
  }
}
