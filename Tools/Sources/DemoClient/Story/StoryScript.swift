import DemoService
import Foundation

/// The edits of the offline story: which notes the user changes, and which notes another user changes meanwhile.
///
/// A note is known by its number. The numbers do not depend on the order in which the client sends edits.
package enum StoryScript {
  /// The notes of the service at the beginning.
  package static let first = 1...40

  // MARK: The user's edits without a service

  package static let inserted = 41...46
  package static let rewritten = 1...20
  /// The notes that are rewritten a second time before anything is sent.
  package static let rewrittenTwice = 1...3
  package static let starred = 21...24
  package static let deleted = 37...40
  /// The note that is inserted and deleted before anything is sent.
  package static let scratch = 50
  /// The number of entries in the outbox, and of the requests for which they stand.
  package static let entries =
    inserted.count + rewritten.count + rewrittenTwice.count + starred.count + deleted.count + 2
  package static let edits = inserted.count + rewritten.count + starred.count + deleted.count

  // MARK: The kill

  /// The number of edits that are sent at once.
  package static let concurrency = 4
  /// The edits that the client knows to be applied when it is killed.
  package static let acknowledged = 10
  /// The edits that the service has applied, and whose answers are lost.
  package static let lostAnswers = 2
  /// The edits that are lost on their way to the service.
  package static let lostRequests = concurrency - lostAnswers

  // MARK: The user's edits after the kill

  package static let rewrittenAgain = 4
  package static let insertedAgain = 47

  // MARK: The other user's changes

  /// The notes that both users rewrite: the first keeps the edit, the second the service's text, and the third gets a new
  /// text.
  package static let bothRewritten = 15...17
  /// The note that the other user deletes and the user has rewritten.
  package static let deletedThere = 18
  /// The note that the other user rewrites and the user has given stars.
  package static let rewrittenThere = 21
  /// The note whose stars the other user changes after the client's last look, so that the service refuses the edit.
  package static let starredThere = 22
  /// The note that the other user rewrites and the user has deleted.
  package static let deletedHere = 37
  /// The notes that only the other user changes, deletes and inserts.
  package static let changedThere = 25...26
  package static let removedThere = 27
  package static let insertedThere = 48
  /// The conflicts that a user has to decide: found by the merge, and reported by the service.
  package static let conflicts = bothRewritten.count + 3

  /// The edits that the service applies in the end: the user gives up one of them.
  package static let applied = edits + 2 - 1

  // MARK: Texts

  package static let oldText = "Works for me."
  package static let oldStars = 3
  package static let newStars = 5
  package static let starsThere = 1
  package static let offlineText = "Tested offline."
  package static let twiceText = "Tested twice offline."
  package static let againText = "Tested again after the crash."
  package static let textThere = "Tested by another user."
  package static let textOfBoth = "Tested by two users."

  // MARK: Notes

  /// The identifier of a note.
  package static func id(_ number: Int) -> UUID {
    let digits = String(number)
    let text = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    return UUID(uuidString: text) ?? UUID()
  }

  /// The number of a note.
  package static func number(_ id: UUID) -> Int { Int(id.uuidString.suffix(12)) ?? 0 }

  package static func note(
    _ number: Int, _ text: String = oldText, stars: Int = oldStars, revision: Int = 1
  ) -> NoteRecord {
    NoteRecord(id: id(number), packageName: "package-\(number)", text: text, stars: stars, revision: revision)
  }

  /// The notes on both sides at the end, by number. Each edit counts once in the revision of its note.
  package static var end: [Int: NoteRecord] {
    var notes: [Int: NoteRecord] = [:]
    func set(_ number: Int, _ text: String = oldText, stars: Int = oldStars, revision: Int) {
      notes[number] = note(number, text, stars: stars, revision: revision)
    }
    for number in first { set(number, revision: 1) }
    for number in inserted { set(number, offlineText, revision: 1) }
    for number in rewritten { set(number, rewrittenTwice.contains(number) ? twiceText : offlineText, revision: 2) }
    for number in starred { set(number, stars: newStars, revision: 2) }
    set(rewrittenAgain, againText, revision: 3)
    set(insertedAgain, offlineText, revision: 1)
    set(bothRewritten.lowerBound, offlineText, revision: 3)
    set(bothRewritten.lowerBound + 1, textThere, revision: 2)
    set(bothRewritten.upperBound, textOfBoth, revision: 3)
    // A note that is inserted again begins again.
    set(deletedThere, offlineText, revision: 1)
    set(rewrittenThere, textThere, stars: newStars, revision: 3)
    set(starredThere, stars: newStars, revision: 3)
    for number in changedThere { set(number, textThere, revision: 2) }
    set(insertedThere, textThere, revision: 1)
    for number in deleted { notes[number] = nil }
    notes[removedThere] = nil
    return notes
  }
}
