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

    /// The binary images of the program, found once.
    private static let images = findImages()

    /// Searches the mapped files for binary images.
    @discardableResult static func findImages() -> ImageMap { FileMappings.searching { ImageMap.capture() } }

    /// The number of outer frames that a trace leaves out, because a capture reads beyond its limit.
    private static let margin = 3

    /// The file and line of the innermost call outside of the framework; the function where no line is known.
    ///
    /// Accessors and thunks that the compiler or a macro made have no line of a file of the program. The line of their
    /// caller says more than their name.
    var location: String? {
      guard let frames = trace.symbolicated(with: Self.images)?.frames else { return nil }
      let symbols = frames.lazy.compactMap(\.symbol).filter { !Self.isOfFramework($0.rawName) }
      for symbol in symbols {
        guard let source = symbol.sourceLocation, source.line > 0 else { continue }
        if !source.path.contains("@__swiftmacro_") { return "\(source.path):\(source.line)" }
      }
      return symbols.first?.name
    }

    /// Whether a mangled name is of one of ``modules``, of the standard library, or of the Swift runtime.
    static func isOfFramework(_ name: String) -> Bool {
      guard name.hasPrefix("$s") else { return name.hasPrefix("swift_") }
      guard let module = moduleName(name.dropFirst(2)) else { return true }
      return modules.contains(module)
    }

    /// The module of a mangled name after its prefix; `nil` for the standard library. A member of a type of the standard
    /// library is of another module if the name has that module's name and the mark of an extension.
    private static func moduleName(_ name: Substring) -> String? {
      if name.first?.isNumber == true { return identifier(name)?.text }
      guard name.first == "S", let module = identifier(name.drop(while: \.isLetter)), module.rest.first == "E" else {
        return nil
      }
      return module.text
    }

    /// The identifier at the start of a part of a mangled name: its length and its text.
    private static func identifier(_ name: Substring) -> (text: String, rest: Substring)? {
      let digits = name.prefix(while: \.isNumber)
      guard let length = Int(digits) else { return nil }
      let rest = name.dropFirst(digits.count)
      return (String(rest.prefix(length)), rest.dropFirst(length))
    }

    /// The modules of the framework that read objects, whose calls ``location`` skips.
    private static let modules: Set = [
      "CoherenceCore", "CoherenceStrategies", "CoherenceReconciliation", "CoherenceActions", "CoherenceMapping",
      "CoherenceOutbox", "CoherencePersistedActions", "CoherenceRefresh",
    ]
  #else
    init?() { return nil }
    var location: String? { nil }
  #endif
}
