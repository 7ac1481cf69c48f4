#if os(Linux)
  import Foundation

  /// Runs of the Swift compiler.
  package enum CompilerRun {
    /// Runs the compiler in a process, and returns the text of its diagnostics.
    ///
    /// A thread of its own waits for the process. A wait in the calling task would keep one of the threads that all tests
    /// share. `Process` is not used: its one thread for all processes of the program may miss an end, and every wait for a
    /// process would then last forever.
    package static func diagnostics(_ arguments: [String]) async throws -> String {
      let command = (["swiftc"] + arguments).map { "'\($0.replacingOccurrences(of: "'", with: "'\\''"))'" }
        .joined(separator: " ")
      return try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try errorOutput(of: command) }) }
      }
    }

    /// Runs a command of the shell, waits for its end, and returns its standard error.
    private static func errorOutput(of command: String) throws -> String {
      guard let output = popen("\(command) 2>&1 >/dev/null", "r") else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EAGAIN)
      }
      defer { pclose(output) }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      while case let count = fread(&buffer, 1, buffer.count, output), count > 0 { bytes += buffer[..<count] }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
#endif
