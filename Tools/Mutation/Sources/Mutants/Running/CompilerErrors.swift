/// The places of the errors in the output of a build.
struct CompilerErrors {
  /// By the path of the file, relative to the root of the package.
  private(set) var lines: [String: Set<Int>] = [:]

  /// - Parameter root: The path of the package, as the build prints it.
  init(in output: String, root: String) {
    for line in output.split(separator: "\n") where line.hasPrefix("\(root)/") {
      let parts = line.dropFirst(root.count + 1).split(separator: ":", maxSplits: 3)
      guard parts.count == 4, parts[3].hasPrefix(" error:"), let number = Int(parts[1]) else { continue }
      lines[String(parts[0]), default: []].insert(number)
    }
  }
}
