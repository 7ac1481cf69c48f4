import Foundation

/// The machine that produced the figures.
struct Machine: Codable {
  let processor: String
  let cores: Int
  let memory: UInt64
  let system: String
  let isOptimized: Bool

  static var current: Machine {
    let process = ProcessInfo.processInfo
    return Machine(
      processor: processorName, cores: process.activeProcessorCount, memory: process.physicalMemory,
      system: systemName ?? process.operatingSystemVersionString, isOptimized: isOptimizedBuild)
  }

  private static var processorName: String {
    value(of: "model name", separator: ":", in: "/proc/cpuinfo") ?? "unknown"
  }

  private static var systemName: String? {
    guard let name = value(of: "PRETTY_NAME", separator: "=", in: "/etc/os-release") else { return nil }
    guard let kernel = try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8) else { return name }
    return "\(name), Linux \(kernel.trimmingCharacters(in: .whitespacesAndNewlines))"
  }

  private static func value(of key: String, separator: Character, in path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(key) }) else { return nil }
    return line.split(separator: separator, maxSplits: 1).last?
      .trimmingCharacters(in: CharacterSet.whitespaces.union(CharacterSet(charactersIn: "\"")))
  }

  private static var isOptimizedBuild: Bool {
    var isOptimized = true
    assert(
      {
        isOptimized = false; return true
      }())
    return isOptimized
  }
}
