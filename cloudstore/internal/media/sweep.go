package media

import (
	"context"
	"slices"
	"time"

	"iris-gateway/iris"
)

// maxUnfinished is how many uploads of a gateway may wait to be resumed.
const maxUnfinished = 64

// unsentLifetime is how long a medium may wait for the message that it was sent
// for. Who brings a file may die before it says what for.
const unsentLifetime = 7 * 24 * time.Hour

// sweep removes what nobody will ask for any more: uploads that were not resumed
// in time, or that are too many, media that have expired, and those that no
// message has.
func (l *Library) sweep(ctx context.Context, g string) error {
	over, err := l.abandoned(ctx, g)
	if err == nil && l.Retention > 0 {
		var expired []Row
		expired, err = l.Rows.ExpiredRows(ctx, g, l.Now())
		over = append(over, expired...)
	}
	if err == nil {
		var unsent []Row
		unsent, err = l.unsent(ctx, g)
		over = append(over, unsent...)
	}
	if err != nil {
		return err
	}
	for _, row := range over {
		if err := l.remove(ctx, g, row); err != nil && iris.ErrorCode(err) != iris.CodeConflict {
			return err
		}
	}
	return nil
}

// abandoned returns the uploads that are too old, or too many.
func (l *Library) abandoned(ctx context.Context, g string) (over []Row, err error) {
	unfinished, err := l.Rows.UnfinishedRows(ctx, g)
	slices.SortFunc(unfinished, func(a, b Row) int { return b.Created.Compare(a.Created) })
	for i, row := range unfinished {
		if i >= maxUnfinished-1 || l.tooOld(row) {
			over = append(over, row)
		}
	}
	return over, err
}

// unsent returns the media that no message has, although there was time, and those
// that somebody has begun to remove. Those that a message has are not looked at
// again: they go with their messages.
func (l *Library) unsent(ctx context.Context, g string) (over []Row, err error) {
	due, err := l.Rows.ReviewRows(ctx, g, l.Now())
	if err != nil {
		return nil, err
	}
	for _, row := range due {
		having, err := l.Rows.MediaMessages(ctx, g, row.ID, 1)
		if err != nil {
			return nil, err
		}
		if len(having) == 0 {
			over = append(over, row)
			continue
		}
		row.Review = time.Time{}
		if _, err := l.Rows.ReplaceMediaRow(ctx, g, row); err != nil && iris.ErrorCode(err) != iris.CodeConflict {
			return nil, err
		}
	}
	return over, nil
}

func (l *Library) tooOld(row Row) bool { return l.Now().Sub(row.Created) > iris.UploadLifetime }
