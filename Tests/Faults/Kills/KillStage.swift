import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The test's side: the prepared processes, and the socket on which the clients' messages arrive.
///
/// Used by one thread.
final class KillStage {
  /// The treatment of a message.
  enum Treatment {
    case answer(KillAnswer)
    /// The client is killed, and gets no answer.
    case kill
  }

  /// The time of a kill.
  struct Kill {
    var index: Int
    var delay: Duration
    /// Whether the delay begins with the first message of the client, and not at once.
    var followsMessage = true
  }

  let socket: String
  private let directory: TemporaryDirectory
  private let listener: CInt
  private let processes: [PreparedProcess]
  /// The clients that have sent a message.
  private var speakers: Set<pid_t> = []

  /// - Parameter count: The number of clients at a time.
  init(_ count: Int) throws {
    directory = try TemporaryDirectory()
    socket = directory.url.appendingPathComponent("socket").path(percentEncoded: false)
    listener = try UnixSocket.listen(at: socket)
    processes = try (0..<count).map { _ in try PreparedProcess() }
  }

  deinit { close(listener) }

  func start(_ command: KillCommand, on index: Int) throws { try processes[index].start(command) }
  func kill(_ index: Int) { processes[index].killClient() }

  /// Serves messages until a client ends.
  ///
  /// - Parameter kill: The client to kill, and the time.
  /// - Returns: The ended client, and its end.
  func serve(
    killing kill: Kill? = nil, _ treat: (KillMessage) throws -> Treatment
  ) throws -> (index: Int, end: PreparedProcess.End) {
    var kill = kill
    var deadline: ContinuousClock.Instant?
    while true {
      if deadline == nil, let kill, !kill.followsMessage || processes[kill.index].client.map(speakers.contains) == true
      {
        deadline = .now + kill.delay
      }
      let running = processes.indices.filter { processes[$0].client != nil }
      var polled = ([listener] + running.map { processes[$0].descriptor }).map {
        pollfd(fd: $0, events: CShort(POLLIN), revents: 0)
      }
      let rest = deadline.map { ContinuousClock.now.duration(to: $0) / .milliseconds(1) }
      let ready = poll(&polled, nfds_t(polled.count), rest.map { CInt(max(0, $0.rounded(.up))) } ?? -1)
      if ready < 0 { continue }
      if let victim = kill, let time = deadline, ContinuousClock.now >= time {
        self.kill(victim.index)
        (kill, deadline) = (nil, nil)
      }
      // The messages of a client come before its end.
      if polled[0].revents != 0 {
        try receive(treat)
      } else if let ended = running.indices.first(where: { polled[$0 + 1].revents != 0 }) {
        return (running[ended], try processes[running[ended]].readEnd())
      }
    }
  }

  private func receive(_ treat: (KillMessage) throws -> Treatment) throws {
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { return }
    defer { close(connection) }
    // A client may die in the middle of a message, and before the answer.
    guard let line = UnixSocket.readLine(from: connection) else { return }
    let message = try JSONDecoder().decode(KillMessage.self, from: line)
    speakers.insert(message.process)
    switch try treat(message) {
    case .answer(let answer):
      try? UnixSocket.write(try JSONEncoder().encode(answer) + [UInt8(ascii: "\n")], to: connection)
    case .kill: for process in processes where process.client == message.process { process.killClient() }
    }
  }
}
