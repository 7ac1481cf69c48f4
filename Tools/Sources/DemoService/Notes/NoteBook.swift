import Foundation

/// The notes of the service, which outlive its stops.
///
/// The book does what an outbox expects of a server: it keeps each answer with the idempotency key of its edit, in the
/// same step as the change. A repeated edit gets the kept answer and changes nothing. A change of a field is refused when
/// the field has another value than the one on which the change is based.
public actor NoteBook {
  private var notes: [UUID: NoteRecord]
  private var answers: [UUID: NoteAnswer] = [:]
  private var outage: NoteOutage?
  /// The counts since the book was made.
  public private(set) var statistics = NoteStatistics()
  private let honorsKeys: Bool

  /// - Parameter honorsKeys: Whether a repeated edit is recognized. Otherwise it is applied again, as by a service that
  ///   neglects its duty.
  public init(_ notes: [NoteRecord] = [], honorsKeys: Bool = true) {
    self.notes = Dictionary(notes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    self.honorsKeys = honorsKeys
  }

  /// All notes, sorted by identifier.
  public var list: NoteList { NoteList(notes: notes.values.sorted { $0.id.uuidString < $1.id.uuidString }) }

  // MARK: Edits of clients

  /// Decides about an edit. An edit during an outage gets no answer, or is lost.
  ///
  /// - Parameter key: The idempotency key of the edit.
  /// - Returns: `nil` for an edit whose client gets no answer.
  func receive(_ request: NoteRequest, key: UUID) async -> NoteAnswer? {
    statistics.received += 1
    switch outage?.nextFate() ?? .answered {
    case .answered: return apply(request, key)
    case .answerLost: _ = apply(request, key)
    case .requestLost: statistics.lost += 1
    }
    await outage?.hold()
    return nil
  }

  /// Nothing suspends between the look at the known keys and the keeping of the answer.
  private func apply(_ request: NoteRequest, _ key: UUID) -> NoteAnswer {
    if honorsKeys, let known = answers[key] {
      statistics.refusedDuplicates += 1
      return known
    }
    let answer = decide(request)
    switch answer {
    case .applied, .deleted: statistics.applications[key, default: 0] += 1
    case .conflict: statistics.conflicts += 1
    case .unknown: break
    }
    answers[key] = answer
    return answer
  }

  private func decide(_ request: NoteRequest) -> NoteAnswer {
    switch request {
    case .insert(var note):
      if let known = notes[note.id], honorsKeys { return .conflict(known) }
      note.revision = (notes[note.id]?.revision ?? 0) + 1
      notes[note.id] = note
      return .applied(note)
    case .update(let id, let change):
      guard var note = notes[id] else { return .unknown }
      guard Self.fits(note.text, change.base.text, change.values.text),
        Self.fits(note.stars, change.base.stars, change.values.stars)
      else { return .conflict(note) }
      note.text = change.values.text ?? note.text
      note.stars = change.values.stars ?? note.stars
      note.revision += 1
      notes[id] = note
      return .applied(note)
    case .delete(let id): return notes.removeValue(forKey: id) == nil ? .unknown : .deleted
    }
  }

  /// Whether no other client has changed a field, or another client has changed it to the same value.
  private static func fits<Value: Equatable>(_ present: Value, _ base: Value?, _ new: Value?) -> Bool {
    new == nil || present == base || present == new
  }

  // MARK: Edits of other clients

  /// Changes a note as another client does.
  public func change(_ id: UUID, _ change: @Sendable (inout NoteRecord) -> Void) {
    guard var note = notes[id] else { return }
    change(&note)
    note.revision += 1
    notes[id] = note
  }

  /// Inserts a note as another client does.
  public func insert(_ note: NoteRecord) { notes[note.id] = note }

  /// Deletes a note as another client does.
  public func remove(_ id: UUID) { notes[id] = nil }

  // MARK: Outages

  /// Answers some more edits and none afterwards, until ``endOutage()``.
  ///
  /// - Parameters:
  ///   - answered: The number of edits that still get an answer.
  ///   - applied: The number of edits after these that are applied, and whose answers are lost. Later edits are lost.
  public func beginOutage(afterAnswers answered: Int, lostAnswers applied: Int) {
    outage = NoteOutage(answered: answered, applied: applied)
  }

  /// Returns when a number of edits waits for an answer in the outage.
  public func waitUntilHeld(_ count: Int) async { await outage?.waitUntilHeld(count) }

  /// Ends the outage. The edits that wait get no answer.
  public func endOutage() {
    outage?.end()
    outage = nil
  }
}
