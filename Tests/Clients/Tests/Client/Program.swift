#if os(Linux)  // Elsewhere the data has a place of the system's choice, which a test leaves alone.
  import Foundation
  import Testing

  /// Runs a program of this package, with its data in a temporary directory.
  struct Program {
    let name: String
    let arguments: [String]
    let dataHome: URL
    /// The working directory; `nil` for the directory of the tests.
    var directory: URL?
    /// Environment variables in addition to the variables of the tests.
    var environment: [String: String] = [:]

    init(_ name: String, _ arguments: String...) {
      let dataHome = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
      self.init(name, arguments: arguments, dataHome: dataHome)
    }

    /// - Parameter dataHome: The directory with the data of an earlier run.
    init(_ name: String, arguments: [String], dataHome: URL) {
      self.name = name
      self.arguments = arguments
      self.dataHome = dataHome
    }

    /// Runs the program, which must succeed, and returns its output.
    func output() throws -> String {
      let (process, text) = try run()
      #expect(process.terminationStatus == 0)
      return text
    }

    /// Runs the program, which may fail, and returns the ended process and its output.
    func run() throws -> (Process, String) {
      let output = Pipe()
      let process = Process()
      process.executableURL = Self.products.appendingPathComponent(name)
      process.arguments = arguments
      process.environment = ProcessInfo.processInfo.environment.merging(["XDG_DATA_HOME": dataHome.path]) { $1 }
        .merging(environment) { $1 }
      if let directory { process.currentDirectoryURL = directory }
      process.standardOutput = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (process, text)
    }

    func remove() { try? FileManager.default.removeItem(at: dataHome) }

    /// The directory of the built executables, including the tests.
    private static var products: URL { URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent() }
  }
#endif
