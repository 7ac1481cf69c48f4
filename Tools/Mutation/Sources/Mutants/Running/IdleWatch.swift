import Foundation
import Synchronization

/// Ends a process and its children when they use no processor time for a while: their threads wait for each other.
///
/// Reads `/proc`. On a system without it, the watch ends nothing.
final class IdleWatch: Sendable {
  private enum State {
    case watching, stopped, ended
  }

  private let state = Mutex(State.watching)

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - group: The process group, whose number is that of its first process.
  ///   - limit: The seconds without processor time.
  init(group: pid_t, limit: Double) {
    Thread.detachNewThread { [self] in
      var lastUse = (time: Self.processorTime(of: group), date: Date())
      while state.withLock({ $0 == .watching }) {
        Thread.sleep(forTimeInterval: min(limit / 4, 2))
        guard let time = Self.processorTime(of: group), let last = lastUse.time else { continue }
        // Timers of idle threads cost some ticks.
        if Double(time - last) > 2 * limit {
          lastUse = (time, Date())
        } else if Date().timeIntervalSince(lastUse.date) > limit {
          return end(group)
        }
      }
    }
  }

  /// Ends the watch.
  ///
  /// - Returns: Whether the watch has ended the processes.
  func stop() -> Bool {
    state.withLock { state in
      if state == .watching { state = .stopped }
      return state == .ended
    }
  }

  private func end(_ group: pid_t) {
    state.withLock { state in
      guard state == .watching else { return }
      state = .ended
      kill(-group, SIGKILL)
    }
  }

  /// The processor time of all processes of a group, in ticks of a hundredth of a second.
  private static func processorTime(of group: pid_t) -> Int? {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else { return nil }
    return names.filter { $0.first?.isNumber == true }.reduce(into: 0) { sum, name in
      guard let stat = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
        // The name of the program, in parentheses, may have spaces.
        let end = stat.lastIndex(of: ")")
      else { return }
      let fields = stat[end...].split(separator: " ")
      guard fields.count > 13, fields[3] == "\(group)" else { return }
      sum += (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0)
    }
  }
}
