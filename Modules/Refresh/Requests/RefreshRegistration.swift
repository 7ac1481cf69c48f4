import CoherenceActions
import CoherenceCore

/// A registered refresh of one entity.
struct RefreshRegistration: Sendable {
  let entity: EntityDescription
  let type: RefreshStatus.Kind
  /// The scope of a list; `nil` for all records, and for reads, whose scope is a key.
  let scope: String?
  let stalenessInterval: Duration
  let schedule: Schedule?
  let timeLimit: Duration
  let body: @Sendable (RefreshRequest) async throws -> Void
}
