import Coherence
import CoherenceOutbox

/// The server does not have a chore any more.
struct UnknownChore: Error {}

extension ForwardRequest<Chore> {
  /// Sends the edit, and returns the decision of the server.
  func send(_ kind: ChoreEdit.Kind, to server: ChoreServer) async throws -> ForwardAnswer {
    guard let id = key(\.id) else { return .rejected(UnknownChore()) }
    let edit = ChoreEdit(
      kind: kind, id: id, base: ChoreFields(title: base(\.title), room: base(\.room)),
      values: ChoreFields(title: self[\.title], room: self[\.room]))
    switch try await server.receive(edit, key: idempotencyKey) {
    case .applied(let chore): return .accepted(["revision": chore.revision])
    case .deleted: return .accepted
    case .conflict(let chore):
      return .conflict(["title": chore.title, "room": chore.room, "revision": chore.revision])
    case .unknown: return kind == .delete ? .accepted : .rejected(UnknownChore())
    }
  }
}
