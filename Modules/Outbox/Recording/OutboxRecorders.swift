import CoherenceCore
import Synchronization

/// The recorders in use. A coordinator never has two recorders, which would record each change twice.
final class OutboxRecorders: Sendable {
  /// A recorder and its coordinator, which retains the recorder.
  private struct Registration {
    weak var coordinator: PersistentStoreCoordinator?
    weak var recorder: OutboxRecorder?
    let names: Set<String>
  }

  static let shared = OutboxRecorders()
  private let registrations = Mutex<[ObjectIdentifier: Registration]>([:])

  /// Returns the recorder of a coordinator. An existing recorder of the same entities is returned; otherwise `make`
  /// makes the recorder.
  ///
  /// - Throws: ``ErrorCode/illegalState`` when the coordinator has a recorder of other entities; errors of `make`.
  func recorder(
    for coordinator: PersistentStoreCoordinator, _ names: Set<String>, make: () throws -> OutboxRecorder
  ) throws -> OutboxRecorder {
    // Released after the lock: another thread may release its last reference to a coordinator in the meantime.
    var coordinators: [PersistentStoreCoordinator] = []
    defer { withExtendedLifetime(coordinators) {} }
    return try registrations.withLock { registrations in
      registrations = registrations.filter { registration in
        guard let coordinator = registration.value.coordinator else { return false }
        coordinators.append(coordinator)
        return true
      }
      let key = ObjectIdentifier(coordinator)
      if let present = registrations[key], present.coordinator === coordinator, let recorder = present.recorder {
        guard present.names == names else {
          throw CoherenceError(
            .illegalState,
            "The coordinator has an outbox for other entities already; name all entities in one outbox, or close the "
              + "other outbox first.")
        }
        return recorder
      }
      let recorder = try make()
      registrations[key] = Registration(coordinator: coordinator, recorder: recorder, names: names)
      return recorder
    }
  }

  /// Removes a recorder, so that the coordinator can get another one.
  func remove(_ recorder: OutboxRecorder, of coordinator: PersistentStoreCoordinator) {
    registrations.withLock { registrations in
      let key = ObjectIdentifier(coordinator)
      if registrations[key]?.recorder === recorder { registrations[key] = nil }
    }
  }
}
