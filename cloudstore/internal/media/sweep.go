package media

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"iris-gateway/iris"
)

// maxUnfinished is how many uploads of a gateway may wait to be resumed.
const maxUnfinished = 64

// unsentLifetime is how long a medium may wait for the message that it was sent
// for. Who brings a file may die before it says what for.
const unsentLifetime = 7 * 24 * time.Hour

// makeRoom removes what nobody will ask for any more: uploads that were not resumed
// in time, or that are too many, media that have expired, and those that no
// message has. It refuses a medium for which there is no room then.
func (l *Library) makeRoom(ctx context.Context, g string, size int64) error {
	over, used, err := l.look(ctx, g)
	if err != nil {
		return err
	}
	for _, row := range over {
		if err := l.remove(ctx, g, row); err != nil && iris.ErrorCode(err) != iris.CodeConflict {
			return err
		}
	}
	if len(over) > 0 {
		if used, err = l.Rows.MediaBytes(ctx, g); err != nil {
			return err
		}
	}
	return l.fits(size, used)
}

// look returns what can be removed, and how many bytes are used. It looks for all at
// once: somebody waits.
func (l *Library) look(ctx context.Context, g string) (over []Row, used int64, err error) {
	looks := []func(context.Context, string) ([]Row, error){l.abandoned, l.overdue, l.unsent}
	found := make([][]Row, len(looks))
	all, ctx := errgroup.WithContext(ctx)
	for i, look := range looks {
		all.Go(func() (err error) {
			found[i], err = look(ctx, g)
			return err
		})
	}
	all.Go(func() (err error) {
		used, err = l.Rows.MediaBytes(ctx, g)
		return err
	})
	err = all.Wait()
	return slices.Concat(found...), used, err
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

// overdue returns media that have expired.
func (l *Library) overdue(ctx context.Context, g string) ([]Row, error) {
	if l.Retention == 0 {
		return nil, nil
	}
	return l.Rows.ExpiredRows(ctx, g, l.Now())
}

// unsent returns the media that no message has, although there was time, and those
// that somebody has begun to remove, whoever has them. Those that a message has are
// not looked at again: they go with their messages.
func (l *Library) unsent(ctx context.Context, g string) (over []Row, err error) {
	due, err := l.Rows.ReviewRows(ctx, g, l.Now())
	if err != nil {
		return nil, err
	}
	for _, row := range due {
		if !row.Ready {
			over = append(over, row)
			continue
		}
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

func (l *Library) tooOld(row Row) bool { return l.Now().After(row.resumable()) }
