#if os(Linux) && canImport(Runtime)
  import CoherenceRuntime
  import Runtime
#endif

/// The calls that lead to a place of the program, for reports. Where the platform has no traces, there is none.
struct CallTrace: Sendable {
  #if os(Linux) && canImport(Runtime)
    private let trace: Backtrace

    /// The calls that lead to the caller. Costs about a tenth of a millisecond.
    init?() {
      // The capture reads whatever the frames point to. The outer frames of a thread are those of libraries without frame
      // pointers, and may point outside of the stack.
      let count = Int(coherence_frame_count(64)) - Self.margin
      guard count > 0,
        let trace = try? Backtrace.capture(algorithm: .fast, limit: count, top: 0, images: Self.images)
      else { return nil }
      self.trace = trace
    }

    /// The images of the program, found once. The search reads the head of every mapped file, and a file that is unmapped
    /// meanwhile would end the process.
    private static let images = ImageMap.capture()

    /// The number of counted frames that a trace leaves out: a capture reads ahead of its limit.
    private static let margin = 3

    /// The file and line of the innermost call outside of the framework; the function where the line is not known.
    var location: String? {
      guard let frames = trace.symbolicated(with: Self.images)?.frames else { return nil }
      for frame in frames {
        guard let symbol = frame.symbol, !Self.isOfFramework(symbol.rawName) else { continue }
        // Accessors that the compiler and macros make have no line.
        if let source = symbol.sourceLocation, source.line > 0 { return "\(source.path):\(source.line)" }
        return symbol.name
      }
      return nil
    }

    /// Whether a mangled name is of a module of the framework. Of the tests' modules, none begins with its name.
    private static func isOfFramework(_ name: String) -> Bool {
      modules.contains { name.hasPrefix("$s\($0.utf8.count)\($0)") } || name.hasPrefix("$ss")
        || name.hasPrefix("swift_")
    }

    private static let modules = [
      "CoherenceCore", "CoherenceStrategies", "CoherenceReconciliation", "CoherenceActions", "CoherenceMapping",
    ]
  #else
    init?() { return nil }
    var location: String? { nil }
  #endif
}
