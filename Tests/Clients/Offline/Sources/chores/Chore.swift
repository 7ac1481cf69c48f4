import Coherence
import CoherenceModelMacros
import Foundation

@Entity final class Chore: ManagedObject {
  @Attribute(.unique) var id = UUID()
  var title: String
  var room = ""
  /// The number of changes that the server has applied to the chore, as of its last answer; 0 before an answer.
  var revision = 0
}
