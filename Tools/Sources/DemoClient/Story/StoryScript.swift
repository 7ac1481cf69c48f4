import DemoService
import Foundation

/// The edits of the offline story: the notes that the user of the client changes, and the notes that another user
/// changes during the outage.
///
/// Each note has a number, which does not depend on the order in which the client sends edits.
package enum StoryScript {
  /// The notes of the service at the beginning.
  package static let first = 1...40

  // MARK: The user's edits without a service

  package static let inserted = 41...46
  package static let rewritten = 1...20
  /// The notes that the user rewrites a second time before the client sends any edit.
  package static let rewrittenTwice = 1...3
  package static let starred = 21...24
  package static let deleted = 37...40
  /// The note that the user inserts and deletes before the client sends any edit.
  package static let scratch = 50
  /// The number of entries in the outbox. The outbox combines the entries of a note, so that fewer edits are sent.
  package static let entries =
    inserted.count + rewritten.count + rewrittenTwice.count + starred.count + deleted.count + 2
  package static let edits = inserted.count + rewritten.count + starred.count + deleted.count

  // MARK: The kill

  /// The number of edits that the client sends concurrently.
  package static let concurrency = 4
  /// The number of edits that the service has confirmed to the client before the kill.
  package static let acknowledged = 10
  /// The number of edits that the service applies without a reply to the client.
  package static let lostAnswers = 2
  /// The number of edits that never reach the service.
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
  /// The note whose stars the other user changes after the client's last merge, so that the service refuses the edit.
  package static let starredThere = 22
  /// The note that the other user rewrites and the user has deleted.
  package static let deletedHere = 37
  /// The notes that only the other user changes, deletes and inserts.
  package static let changedThere = 25...26
  package static let removedThere = 27
  package static let insertedThere = 48
  /// The number of conflicts for a user to resolve, from the merge and from the service.
  package static let conflicts = bothRewritten.count + 3

  /// The number of edits that the service applies at the end of the story. The user discards one of the edits.
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

  /// Returns the identifier of the note with a number.
  package static func id(_ number: Int) -> UUID {
    let digits = String(number)
    let text = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    return UUID(uuidString: text) ?? UUID()
  }

  /// Returns the number of the note with an identifier.
  package static func number(_ id: UUID) -> Int { Int(id.uuidString.suffix(12)) ?? 0 }

  package static func note(
    _ number: Int, _ text: String = oldText, stars: Int = oldStars, revision: Int = 1
  ) -> NoteRecord {
    NoteRecord(id: id(number), packageName: "package-\(number)", text: text, stars: stars, revision: revision)
  }

  /// The expected notes of the client and of the service at the end, by number. Each edit must raise the revision once.
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
    // The count of a note goes on when the note is inserted again.
    set(deletedThere, offlineText, revision: 2)
    set(rewrittenThere, textThere, stars: newStars, revision: 3)
    set(starredThere, stars: newStars, revision: 3)
    for number in changedThere { set(number, textThere, revision: 2) }
    set(insertedThere, textThere, revision: 1)
    for number in deleted { notes[number] = nil }
    notes[removedThere] = nil
    return notes
  }
}
