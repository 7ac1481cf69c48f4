#if os(Linux) && canImport(Runtime)
  import CoherenceRuntime
  import Runtime
#endif

/// The stack of calls that led to a point of the program, for reports. `nil` on platforms without stack traces.
struct CallTrace: Sendable {
  #if os(Linux) && canImport(Runtime)
    private let trace: Backtrace

    /// Captures the calls that led to the caller. Costs about a tenth of a millisecond.
    init?() {
      // The capture follows frame pointers without a check. The outer frames of a thread belong to libraries without
      // frame pointers and may point outside of the stack, so that the capture stops before them.
      let count = Int(coherence_frame_count(64)) - Self.margin
      guard count > 0,
        let trace = try? Backtrace.capture(algorithm: .fast, limit: count, top: 0, images: Self.images)
      else { return nil }
      self.trace = trace
    }

    /// The binary images of the program, found once. The search reads the header of each mapped file. It would crash
    /// the process if another thread unmapped a file during the search.
    private static let images = ImageMap.capture()

    /// The number of outer frames that a trace leaves out, because a capture reads beyond its limit.
    private static let margin = 3

    /// The file and line of the innermost call outside of the framework; the function where the line is not known.
    var location: String? {
      guard let frames = trace.symbolicated(with: Self.images)?.frames else { return nil }
      for frame in frames {
        guard let symbol = frame.symbol, !Self.isOfFramework(symbol.rawName) else { continue }
        // Accessors made by the compiler or a macro have no line. Their name is the best location.
        if let source = symbol.sourceLocation, source.line > 0 { return "\(source.path):\(source.line)" }
        return symbol.name
      }
      return nil
    }

    /// Whether a mangled name is of a module of the framework, or of the Swift runtime.
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
